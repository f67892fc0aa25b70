# Runs the tests of a project. $1: the framework, or auto; $2: the file or folder; $3: a filter, or nothing.
#
# The standard output begins with four lines: the framework, the workspace's folder, the project's folder
# in it, and the command. What follows is what the framework says.
wanted=$1 path=$2 filter=$3 root=$PWD

begin() { # framework command
    printf '%s\n%s\n%s\n%s\n' "$1" "$root" "${PWD#"$root"}" "$2"
}

fail() { # what is the matter, and with what
    begin "$1" "$2"
    exit 127
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail missing "$1"
}

any() { # whether one of these is there
    for file in "$@"; do
        [ -f "$file" ] && return 0
    done
    return 1
}

detect() {
    if [ -f Cargo.toml ]; then echo cargo
    elif [ -f go.mod ]; then echo go
    elif any pyproject.toml pytest.ini setup.py setup.cfg tox.ini conftest.py test_*.py tests/test_*.py; then
        echo python
    elif [ -f package.json ] && grep -q '"test"[[:space:]]*:' package.json; then echo npm
    elif grep -qs '^test[[:space:]]*:' GNUmakefile makefile Makefile; then echo make
    fi
}

[ -e "$path" ] || fail nowhere "$path"
if [ -d "$path" ]; then cd -- "$path" || exit; else cd -- "$(dirname -- "$path")" || exit; fi
# The project is the nearest folder upwards that looks like one.
here=$PWD
while found=$(detect) && [ -z "$found" ] && [ "$PWD" != "$root" ]; do
    cd .. || exit
done
[ -n "$found" ] || cd -- "$here" || exit
case $wanted in
    auto) [ -n "$found" ] || fail none "$path" ;;
    pytest | unittest) found=python ;;
    *) found=$wanted ;;
esac
# What of the project is meant, if not all of it.
target=$root/$path
[ "$(cd -- "$target" 2>/dev/null && pwd)" = "$PWD" ] && target=

case $found in
    cargo)
        need cargo
        begin cargo "cargo test --no-fail-fast${filter:+ -- $filter}"
        exec cargo test --no-fail-fast ${filter:+-- "$filter"} 2>&1
        ;;
    go)
        need go
        packages=./...
        [ -d "$target" ] && packages=.${target#"$PWD"}/...
        begin go "go test -json${filter:+ -run $filter} $packages"
        exec go test -json ${filter:+-run "$filter"} "$packages"
        ;;
    python)
        for python in .venv/bin/python venv/bin/python "$root/.venv/bin/python" python3 python; do
            command -v "$python" >/dev/null 2>&1 && break
        done
        need "$python"
        case $wanted in
            pytest | unittest) ;;
            *) "$python" -c 'import pytest' 2>/dev/null && wanted=pytest || wanted=unittest ;;
        esac
        [ "$wanted" = unittest ] || "$python" -c 'import pytest' 2>/dev/null || fail missing pytest
        begin "$wanted" "$python -m $wanted${target:+ ${target#"$PWD"/}}${filter:+ -k $filter}"
        exec "$python" "$4" "$wanted" "$target" "$filter"
        ;;
    npm)
        need npm
        [ -f package.json ] || fail none "$path"
        test=$(sed -n 's/.*"test"[[:space:]]*:[[:space:]]*"\(.*\)".*/\1/p' package.json | head -n 1)
        case $test in
            *vitest*) set -- --reporter=json ${filter:+-t "$filter"} ;;
            *jest* | *react-scripts*) set -- --json --testLocationInResults ${filter:+-t "$filter"} ;;
            *"node --test"*) set -- ${filter:+--test-name-pattern="$filter"} ;;
            *) set -- ${filter:+"$filter"} ;;
        esac
        # What Node's own runner says is TAP, whatever its version likes better.
        export NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--test-reporter=tap"
        begin npm "npm test${1:+ -- $*}"
        exec npm run --silent test -- "$@" 2>&1
        ;;
    make)
        need make
        begin make "make test"
        exec make test 2>&1
        ;;
esac
