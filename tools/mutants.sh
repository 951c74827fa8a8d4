#!/bin/sh
# Changes the code that turns packets into numbers and numbers into verdicts, one place at a time, and
# runs the tests of this code. docs/explanation/testing.md explains the changes that no test notices. $1
# is the folder of .venv's programs. If the tool for a language is missing, the language is skipped, and
# the reason is printed.
set -eu
bin=$1
out=target/mutants

if cargo mutants --version >/dev/null 2>&1; then
    mkdir -p "$out/rust"
    # .cargo/mutants.toml lists the files. Status 2 means unnoticed changes, and status 3 timeouts.
    cargo mutants --output "$out/rust" || case $? in 2 | 3) ;; *) exit 1 ;; esac
else
    echo 'Rust skipped: cargo-mutants is not installed (cargo install cargo-mutants --locked)' >&2
fi

if "$bin/python" -c 'import mutmut.version' 2>/dev/null || [ -x "$bin/mutmut" ]; then
    # mutmut expects the package beside its tests; pyproject.toml lists the files.
    rm -rf "$out/python"
    mkdir -p "$out/python"
    cp -r python/aqmlab tests pyproject.toml "$out/python"
    (cd "$out/python" && "$OLDPWD/$bin/mutmut" run --max-children 1 && "$OLDPWD/$bin/mutmut" results)
else
    echo "Python skipped: mutmut is not installed ($bin/pip install mutmut)" >&2
fi
