//! Projects whose build program runs their tests: cargo, go, Maven, Gradle, make, CMake.

use super::{Folder, Runner};

/// Folders that CMake usually builds in.
const BUILD_FOLDERS: [&str; 3] = ["build", "cmake-build-debug", "out"];
/// The beginning of a Makefile that CMake generated.
const BY_CMAKE: &str = "# CMAKE generated file";

pub(super) fn cargo(folder: &Folder<'_>) -> Option<Runner> {
    folder.has("Cargo.toml").then_some(Runner::Cargo)
}

pub(super) fn go(folder: &Folder<'_>) -> Option<Runner> {
    folder.has("go.mod").then_some(Runner::Go)
}

pub(super) fn maven(folder: &Folder<'_>) -> Option<Runner> {
    folder.has("pom.xml").then(|| Runner::Maven { wrapper: folder.has("mvnw") })
}

pub(super) fn gradle(folder: &Folder<'_>) -> Option<Runner> {
    let files = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    if !folder.has_any(&files) {
        return None;
    }
    // The wrapper is in the root of a build with several parts.
    Some(Runner::Gradle { wrapper: folder.has("gradlew") })
}

/// A Makefile with a target `test`, unless CMake generated it.
pub(super) fn make(folder: &Folder<'_>) -> Option<Runner> {
    // make reads the first of these files that exists.
    let name = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| folder.has(name))?;
    let text = folder.text(name);
    let has_target = text.lines().any(|line| {
        let targets = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
        !line.starts_with(['\t', '#', ' '])
            && targets.is_some_and(|(names, _)| names.split_whitespace().any(|one| one == "test"))
    });
    (has_target && !text.starts_with(BY_CMAKE)).then_some(Runner::Make)
}

/// A project of CMake that has tests.
pub(super) fn ctest(folder: &Folder<'_>) -> Option<Runner> {
    let text = folder.text("CMakeLists.txt").to_lowercase();
    let text = text.replace(' ', "");
    let calls = ["enable_testing", "add_test", "include(ctest"];
    let has_tests = calls.iter().any(|call| text.contains(call));
    has_tests.then(|| Runner::Ctest { build: build_folder(folder) })
}

/// The folder in which CMake built the project before, else the usual one.
pub(super) fn build_folder(folder: &Folder<'_>) -> String {
    let was_built = |name: &&str| folder.subfolder(name).has("CMakeCache.txt");
    let name = BUILD_FOLDERS.into_iter().find(was_built).unwrap_or(BUILD_FOLDERS[0]);
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Runner;
    use super::super::fixture::runner_at;

    fn runner(files: &[(&str, &str)]) -> Option<Runner> {
        runner_at(files, "/").map(|(_, runner)| runner)
    }

    #[test]
    fn each_build_program_is_known_by_its_files() {
        assert_eq!(runner(&[("Cargo.toml", "")]), Some(Runner::Cargo));
        assert_eq!(runner(&[("go.mod", "")]), Some(Runner::Go));
        assert_eq!(runner(&[("pom.xml", "")]), Some(Runner::Maven { wrapper: false }));
        let wrapped = [("pom.xml", ""), ("mvnw", "")];
        assert_eq!(runner(&wrapped), Some(Runner::Maven { wrapper: true }));
        for file in ["build.gradle", "build.gradle.kts", "settings.gradle.kts"] {
            assert_eq!(runner(&[(file, "")]), Some(Runner::Gradle { wrapper: false }), "{file}");
        }
        let wrapped = [("build.gradle", ""), ("gradlew", "")];
        assert_eq!(runner(&wrapped), Some(Runner::Gradle { wrapper: true }));
    }

    #[test]
    fn make_needs_a_target_for_tests() {
        for text in ["test:\n", "all test : x\n", ".PHONY: test\ntest:\n", "test::\n"] {
            assert_eq!(runner(&[("Makefile", text)]), Some(Runner::Make), "{text:?}");
        }
        for text in ["all:\n\ttest: x\n", "tests:\n", "test := x\n", "# test:\n"] {
            assert_eq!(runner(&[("Makefile", text)]), None, "{text:?}");
        }
        assert_eq!(runner(&[("GNUmakefile", "all:\n"), ("Makefile", "test:\n")]), None);
    }

    #[test]
    fn cmake_is_built_where_it_was_built_before() {
        let tests = ("CMakeLists.txt", "enable_testing()\nadd_test(NAME a COMMAND a)\n");
        let at = |build: &str| Some(Runner::Ctest { build: build.to_owned() });
        assert_eq!(runner(&[tests]), at("build"));
        assert_eq!(runner(&[tests, ("out/CMakeCache.txt", "")]), at("out"));
        assert_eq!(runner(&[("CMakeLists.txt", "include (CTest)\n")]), at("build"));
        assert_eq!(runner(&[("CMakeLists.txt", "project(x)\n")]), None);
        // A Makefile that a person wrote comes before CMake.
        assert_eq!(runner(&[tests, ("Makefile", "test:\n")]), Some(Runner::Make));
        let written = "# CMAKE generated file: DO NOT EDIT!\ntest:\n";
        assert_eq!(runner(&[tests, ("Makefile", written)]), at("build"));
    }
}
