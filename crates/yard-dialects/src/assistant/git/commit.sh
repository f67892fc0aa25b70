# Stages and commits. $1: the message; $2: all, paths or staged; then the paths.
message=$1 what=$2
shift 2

# A file with conflict markers is not committed by accident.
if [ -n "$(git ls-files --unmerged | head -n 1)" ]; then
    marks=$(git diff --no-ext-diff --no-textconv --check | grep 'leftover conflict marker')
    if [ -n "$marks" ]; then
        printf '%s\n' "$marks"
        exit 66
    fi
fi

case $what in
    all) git add --all || exit ;;
    paths) git add --all -- "$@" || exit ;;
esac

git rev-parse --quiet --verify MERGE_HEAD >/dev/null || {
    git diff --cached --no-ext-diff --quiet -- "$@"
    case $? in
        0) exit 65 ;;
        1) ;;
        *) exit 1 ;;
    esac
}

# The repository's own author, if it has one, comes before the caller.
name=$(git config --get user.name) && [ -n "$name" ] &&
    export GIT_AUTHOR_NAME="$name" GIT_COMMITTER_NAME="$name"
email=$(git config --get user.email) && [ -n "$email" ] &&
    export GIT_AUTHOR_EMAIL="$email" GIT_COMMITTER_EMAIL="$email"

git commit --quiet --no-verify --no-gpg-sign --cleanup=whitespace --message="$message" -- "$@" >&2 || exit
git rev-parse HEAD || exit
git rev-parse --abbrev-ref HEAD || exit
git show --no-patch --format='%an <%ae>' HEAD || exit
git show --format= --raw --numstat -z -M --no-color --no-ext-diff --no-textconv --diff-merges=first-parent HEAD
