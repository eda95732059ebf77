#!/usr/bin/env bash
# What action.yml runs: installs fsdp2-lint into a virtual environment of its own, and checks; then rehearses, if asked.
# The exit code is that of `fsdp2-lint check`: 0 nothing found, 1 findings, 2 if something failed, which includes bad input.
set -euo pipefail

python="${FSDP2_LINT_PYTHON:-python3}"
version="${FSDP2_LINT_VERSION:-}"
format="${FSDP2_LINT_FORMAT:-github}"
folder="${FSDP2_LINT_FOLDER:-.}"
rehearse="${FSDP2_LINT_REHEARSE:-}"

stop() {
    # A newline would begin another command of GitHub's, so the message is one line.
    printf '::error title=fsdp2-lint::%s\n' "${1//[$'\r\n']/ }"
    exit 2
}

words() { # splits a text as a shell would, and expands nothing
    "$python" -c 'import shlex, sys; print(*shlex.split(sys.argv[1]), sep="\n")' "$1" 2>/dev/null ||
        stop "a quote is not closed in: $1"
}

[[ -z "$version" || "$version" =~ ^[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.dev)[0-9]+)?$ ]] ||
    stop "version has to be a release such as 0.1.0, and is: $version"
[[ -d "$folder" ]] || stop "working-directory is not a folder: $folder"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || stop "Python 3.10 or newer is needed"

options=() paths=()
split=$(words "${FSDP2_LINT_ARGS:-}") || { printf '%s\n' "$split" && exit 2; }
while IFS= read -r word; do [[ -z "$word" ]] || options+=("$word"); done <<<"$split" # macOS has no mapfile
split=$(words "${FSDP2_LINT_PATHS:-.}") || { printf '%s\n' "$split" && exit 2; }
while IFS= read -r word; do [[ -z "$word" ]] || paths+=("$word"); done <<<"$split"

source="${version:+fsdp2-lint==$version}"
source="${source:-${GITHUB_ACTION_PATH:-$(cd "$(dirname "$0")/.." && pwd)}}"
environment="$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/fsdp2-lint.XXXXXX")"
trap 'rm -rf "$environment"' EXIT
{
    "$python" -m venv "$environment" || stop "no virtual environment can be made"
    bin="$environment/bin"
    [[ -d "$bin" ]] || bin="$environment/Scripts" # Windows
    "$bin/python" -m pip install --quiet --disable-pip-version-check "$source" || stop "$source cannot be installed"
} >&2

cd "$folder"
code=0
"$bin/fsdp2-lint" check --output-format "$format" ${options[@]+"${options[@]}"} -- ${paths[@]+"${paths[@]}"} || code=$?
if [[ -n "$rehearse" ]]; then
    # torch and the packages of the script are those of the job's Python, and the checker is the one installed above.
    packages=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    PYTHONPATH="$packages${PYTHONPATH:+:$PYTHONPATH}" "$rehearse" -m fsdp2_lint preflight --depth plan \
        --output-format "$format" || { rehearsed=$?; ((code == 1)) || code=$rehearsed; }
fi
exit "$code"
