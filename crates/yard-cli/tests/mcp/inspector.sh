#!/usr/bin/env bash
# The MCP Inspector against `toolyard mcp`:   inspector.sh BINARY SCRATCH
#
# In both revisions it lists tools, calls one, reads a resource and gets a prompt; and no schema of any toolset is one
# that clients refuse (its `--strict`). Packages are installed into SCRATCH once. Exits with 0 if all holds.
set -euo pipefail

INSPECTOR=2.12.0
NODE=26.10.0
PATIENCE=30
# How it ends after a call whose result is an error.
TOOL_FAILED=5
TOOLSETS=(workspace file coder assistant codex filesystem)

[ $# -eq 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
binary=$(realpath "$1")
mkdir -p "$2"
scratch=$(realpath "$2")

# Both packages, once.
home=$scratch/inspector-$INSPECTOR-node-$NODE
(
    flock 9
    if [ ! -e "$home/ready" ]; then
        rm -rf "$home"
        mkdir -p "$home"
        timeout 600 npm install --prefix "$home" --no-save --no-audit --no-fund --loglevel=error \
            "@modelcontextprotocol/inspector@$INSPECTOR" "node@$NODE" >&2
        # Node comes with the package's own script, or without one where scripts are off: then from beside it.
        [ -x "$home/node_modules/node/bin/node" ] || {
            case "$(uname -m)" in x86_64) arch=x64 ;; aarch64 | arm64) arch=arm64 ;; *) exit 1 ;; esac
            timeout 600 npm install --prefix "$home" --no-save --no-audit --no-fund --loglevel=error \
                "@modelcontextprotocol/inspector@$INSPECTOR" "node@$NODE" \
                "node-$(uname -s | tr '[:upper:]' '[:lower:]')-$arch@$NODE" >&2
        }
        touch "$home/ready"
    fi
) 9>"$home.lock"
for node in "$home"/node_modules/node/bin/node "$home"/node_modules/node-*-*/bin/node; do
    [ -x "$node" ] && break
done
[ -x "$node" ] || { echo "FAILED there is no Node in $home"; exit 1; }

temp=$(mktemp -d "$scratch/inspector-XXXXXX")
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/project"
printf 'one\ntwo\n' >"$temp/project/a.txt"
failures=0

fail() {
    echo "FAILED $1"
    failures=$((failures + 1))
}

# inspect NAME TOOLSET OPTION...: what it prints is in $temp/out, what it complains about in $temp/err.
inspect() {
    inspect_failing 0 "$@"
}

# inspect_failing STATUS NAME TOOLSET OPTION...: the same for what ends with a status.
inspect_failing() {
    local expected=$1 name=$2 toolset=$3 status=0
    shift 3
    HOME=$temp timeout -k 5 "$PATIENCE" "$node" "$home/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" \
        --cli --format json "$@" -- "$binary" mcp --policy open --history --toolset "$toolset" --data-dir "$temp/data" \
        "$temp/project" >"$temp/out" 2>"$temp/err" </dev/null || status=$?
    [ "$status" -eq "$expected" ] || fail "$name: status $status, not $expected: $(head -c 2000 "$temp/err")"
}

# holds NAME WORDS: whether the words were printed.
holds() {
    grep -qF -- "$2" "$temp/out" || fail "$1: no $2 in $(head -c 500 "$temp/out")"
}

for toolset in "${TOOLSETS[@]}"; do
    inspect "strict $toolset" "$toolset" --method tools/list --strict
    holds "strict $toolset" '"name":"undo_step"'
    summary=$(grep -E '^[0-9]+ errors?, ' "$temp/err" || true)
    case "$summary" in
        '' | '0 errors, '*) echo "$toolset: ${summary:-nothing to complain about}" ;;
        *) fail "strict $toolset: $summary" ;;
    esac
done
for era in legacy modern; do
    inspect "$era list" filesystem --protocol-era "$era" --method tools/list
    holds "$era list" '"name":"read_text_file"'
    inspect "$era call" filesystem --protocol-era "$era" --method tools/call --tool-name read_text_file \
        --tool-args-json '{"path": "a.txt", "head": 1}'
    holds "$era call" '"text":"one'
    inspect "$era write" workspace --protocol-era "$era" --method tools/call --tool-name write \
        --tool-args-json "{\"path\": \"/$era.txt\", \"content\": \"by the inspector\"}"
    holds "$era write" '"structuredContent"'
    grep -qx 'by the inspector' "$temp/project/$era.txt" || fail "$era write: not written"
    # The words of a failure reach the client, whatever data comes with them.
    inspect_failing $TOOL_FAILED "$era failure" workspace --protocol-era "$era" --method tools/call --tool-name read \
        --tool-args-json '{"path": "/nowhere"}'
    holds "$era failure" 'File not found: /nowhere'
    inspect "$era resource" filesystem --protocol-era "$era" --method resources/read --uri toolyard://file/a.txt
    holds "$era resource" 'one\ntwo'
    inspect "$era prompt" filesystem --protocol-era "$era" --method prompts/get --prompt-name plan \
        --prompt-args 'task=Tidy'
    holds "$era prompt" 'Tidy'
done
echo "$failures fail"
[ "$failures" -eq 0 ]
