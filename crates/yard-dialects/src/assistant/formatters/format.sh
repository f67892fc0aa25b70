# Formats files. $1: check or write; then files and folders, relative to the workspace.
#
# Every file goes through its formatter's filter, from standard input to standard output, so that a check can
# compare both without changing the file. The standard output has four fields for each file, each ended by
# NUL: the outcome, the formatter, the file, and the error message.
me=$0 mode=$1 root=$PWD
shift
out=${TMPDIR:-/tmp}/formatted.$$ err=${TMPDIR:-/tmp}/complaint.$$
nl='
'

report() { # outcome formatter file message
    printf '%s\0%s\0%s\0%s\0' "$1" "$2" "${3#./}" "$4"
}

own() { # program file: the project's own
    dir=$(dirname -- "$2")
    while :; do
        for own in "$dir/node_modules/.bin/$1" "$dir/.venv/bin/$1" "$dir/venv/bin/$1"; do
            [ -x "$own" ] && { printf '%s' "$root/${own#./}"; return; }
        done
        [ "$dir" = . ] && return 1
        dir=$(dirname -- "$dir")
    done
}

own_or_installed() { # program file: the project's own, else the machine's
    own "$1" "$2" || command -v "$1"
}

upwards() { # test file: the nearest folder upwards for which a test is true
    dir=$(dirname -- "$2")
    while ! "$1" "$dir"; do
        [ "$dir" = . ] && return 1
        dir=$(dirname -- "$dir")
    done
}

has_settings_of_black() { grep -qs '^\[tool\.black' "$1/pyproject.toml"; }

has_settings_of_ruff() {
    [ -f "$1/ruff.toml" ] || [ -f "$1/.ruff.toml" ] || grep -qs '^\[tool\.ruff' "$1/pyproject.toml"
}

names_prettier() { grep -qs '"prettier"' "$1/package.json"; }

edition_of() { # file: the edition in the nearest manifest that has one
    dir=$(dirname -- "$1")
    while :; do
        edition=$(sed -n 's/^ *edition *= *"\([0-9]*\)".*/\1/p' "$dir/Cargo.toml" 2>/dev/null | head -n 1)
        [ -n "$edition" ] && break
        [ "$dir" = . ] && break
        dir=$(dirname -- "$dir")
    done
    printf '%s' "${edition:-2021}"
}

# rustfmt reads its settings from the folder that it is started in.
format_rust() { (cd -- "$(dirname -- "$1")" && exec "$2" --quiet --edition "$3"); }

through() { # formatter file filter...
    formatter=$1 file=$2
    shift 2
    if ! "$@" <"$file" >"$out" 2>"$err"; then
        report failed "$formatter" "$file" "$(head -c 1000 "$err")"
    elif [ -s "$file" ] && [ ! -s "$out" ]; then
        report failed "$formatter" "$file" "it gave nothing back"
    elif cmp -s -- "$file" "$out"; then
        report same "$formatter" "$file"
    elif [ "$mode" = check ] || cat -- "$out" >"$file" 2>"$err"; then
        report changed "$formatter" "$file"
    else
        report failed "$formatter" "$file" "$(head -c 1000 "$err")"
    fi
}

format_python() { # file: with the formatter of the project's settings, else with an installed one, the project's own first
    if upwards has_settings_of_black "$1"; then
        set -- "$1" black
        program=$(own_or_installed black "$1")
    elif upwards has_settings_of_ruff "$1"; then
        set -- "$1" ruff
        program=$(own_or_installed ruff "$1")
    elif program=$(own ruff "$1" || { own black "$1" >/dev/null && exit 1; } || command -v ruff); then
        set -- "$1" ruff
    else
        set -- "$1" black
        program=$(own_or_installed black "$1") || set -- "$1" ruff
    fi
    if [ -z "$program" ]; then
        report missing "$2" "$1"
    elif [ "$2" = ruff ]; then
        through ruff "$1" "$program" format --no-cache --force-exclude --stdin-filename "$1" -
    else
        through black "$1" "$program" --quiet --stdin-filename "$1" -
    fi
}

format_with_prettier() { # files; starting it takes long, so that it says first which ones differ
    # A project that names it has its own version of it.
    if upwards names_prettier "$1"; then program=$(own prettier "$1"); else program=$(own_or_installed prettier "$1"); fi
    if [ -z "$program" ]; then
        for file do report missing prettier "$file"; done
        return
    fi
    listed=$("$program" --list-different -- "$@" 2>/dev/null)
    broken=$?
    for file do
        case $broken in
            0) is_fine=yes ;;
            1) case $nl$listed$nl in *"$nl${file#./}$nl"*) is_fine=no ;; *) is_fine=yes ;; esac ;;
            *) is_fine=no ;;
        esac
        if [ $is_fine = yes ]; then
            report same prettier "$file"
        else
            through prettier "$file" "$program" --stdin-filepath "$file"
        fi
    done
}

if [ "$1" = each ]; then
    shift
    count=$#
    for file do
        case $file in
            *.rs)
                if program=$(own_or_installed rustfmt "$file") && [ -n "$program" ]; then
                    through rustfmt "$file" format_rust "$file" "$program" "$(edition_of "$file")"
                else
                    report missing rustfmt "$file"
                fi
                ;;
            *.py | *.pyi) format_python "$file" ;;
            *.go)
                if command -v gofmt >/dev/null 2>&1; then
                    through gofmt "$file" gofmt
                else
                    report missing gofmt "$file"
                fi
                ;;
            *.js | *.jsx | *.mjs | *.cjs | *.ts | *.tsx | *.mts | *.cts | *.vue | *.css | *.scss | *.less | \
                *.json | *.html | *.md | *.mdx | *.yaml | *.yml | *.graphql) set -- "$@" "$file" ;;
            *) report unknown '' "$file" ;;
        esac
    done
    shift "$count"
    [ $# -eq 0 ] || format_with_prettier "$@"
    exit 0
fi

# The files of a folder that a formatter knows. Texts and data count only where prettier is installed.
files_below() { # folder
    set -- "$1" '*.rs' '*.py' '*.pyi' '*.go' '*.js' '*.jsx' '*.mjs' '*.cjs' '*.ts' '*.tsx' '*.mts' '*.cts' \
        '*.vue' '*.css' '*.scss' '*.less'
    if [ -n "$(own_or_installed prettier "$1/x")" ]; then
        set -- "$@" '*.json' '*.html' '*.md' '*.mdx' '*.yaml' '*.yml' '*.graphql'
    fi
    folder=$1
    shift
    count=$#
    for name do
        set -- "$@" -o -name "$name"
    done
    shift "$((count + 1))"
    find "$folder" -type d \( -name '.?*' -o -name node_modules -o -name target -o -name venv \
        -o -name __pycache__ -o -name dist -o -name build \) -prune -o -type f \( "$@" \) -print0
}

lines() { tr '\n\000' '\000\n'; } # names that end with NUL as lines, and the reverse

without_ignored() { # the files on standard input that git does not ignore
    if [ -e .git ] && command -v git >/dev/null 2>&1; then
        cat >"$out"
        GIT_LITERAL_PATHSPECS=0 git check-ignore -z --stdin <"$out" 2>/dev/null | lines >"$err"
        lines <"$out" | grep -avxF -f "$err" | lines
    else
        cat
    fi
}

for path do
    if [ -d "$path" ]; then
        files_below "$path" | without_ignored | xargs -0 -r sh "$me" "$mode" each
    elif [ -f "$path" ]; then
        sh "$me" "$mode" each "$path"
    else
        report no_such_file '' "$path"
    fi
done
