//! Names for plans that were given none: an adjective and two nouns, drawn at random.

use yard_core::World;

/// Words of each list.
const WORDS: usize = 64;

const ADJECTIVES: &str = "\
    agile amber ample bold brave breezy bright brisk calm candid cheery clever cosmic crisp curious daring \
    deft eager earnest elegant fearless festive frosty gentle gleeful golden graceful grand hardy honest \
    humble jolly jubilant keen kind lively loyal lucid lunar merry mighty mellow nimble noble patient placid \
    playful polite proud quiet radiant rapid rustic serene silver sincere sturdy sunny swift tidy tranquil \
    vivid warm witty";

const FIRST_NOUNS: &str = "\
    acorn anchor apricot aspen badger basil beacon birch breeze brook canyon cedar cherry clover comet coral \
    cricket dolphin dune ember falcon fern finch forest galaxy garnet glacier harbor hazel heron island ivy \
    jasmine juniper lagoon lantern lark lemon lily lynx maple marble meadow nectar oak olive orchid otter \
    pebble pepper pine plum prairie quartz raven reef river saffron sparrow summit tangerine thistle walnut \
    willow";

const LAST_NOUNS: &str = "\
    adventure anthem arrival ascent ballad bridge canvas carnival chapter chorus compass concert craft dance \
    design discovery dream echo encounter expedition fable festival flight garden harvest horizon invention \
    journey kite ladder legend lesson letter melody mission mosaic odyssey parade passage pattern picnic \
    pilgrimage poem portrait promise puzzle quest recipe revelation rhythm riddle sail signal sketch song \
    story symphony tale tapestry trail treasure venture voyage workshop";

/// Three random words, hyphenated.
pub(super) fn random_name(world: &dyn World) -> String {
    let random = world.random();
    let pick = |words: &'static str, shift: u32| {
        words.split(' ').nth((random >> shift) as usize % WORDS).unwrap_or_default()
    };
    format!("{}-{}-{}", pick(ADJECTIVES, 0), pick(FIRST_NOUNS, 32), pick(LAST_NOUNS, 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use yard_testkit::FakeWorld;

    use super::*;

    #[test]
    fn w17_names_are_three_lower_case_words() {
        for words in [ADJECTIVES, FIRST_NOUNS, LAST_NOUNS] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!((words.len(), words.iter().collect::<BTreeSet<_>>().len()), (WORDS, WORDS));
            assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        }
        let world = FakeWorld::new(1);
        let names: BTreeSet<String> = (0..100).map(|_| random_name(&world)).collect();
        assert!(names.len() > 95 && names.iter().all(|name| name.split('-').count() == 3));
    }
}
