#!/usr/bin/env bash
# Compiles the simulator to WebAssembly for the page: `make page`. Without a toolchain for WebAssembly, it
# prints how to install one and what is skipped, and exits with status 0, so that `make test` continues. With
# `--check` it compiles nothing, and exits with status 2 if there is no toolchain, so that `make page` stops
# before it builds anything.
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
made=python/aqmlab/page/simulator.wasm
build=(build --quiet --profile web -p aqmlab-wasm --target "$target" --target-dir target/page)

toolchain() {
  if [[ -d $(rustc --print sysroot 2>/dev/null)/lib/rustlib/$target/lib ]]; then
    echo rustup
  elif [[ -x /usr/bin/cargo && -d /usr/lib/rustlib/src/rust/library ]] && command -v wasm-ld >/dev/null &&
    dpkg -s rustc-web >/dev/null 2>&1; then
    echo debian
  fi
}

found=$(toolchain)
if [[ -z $found ]]; then
  echo 'The simulator cannot be compiled for the page, because there is no toolchain for WebAssembly.' >&2
  [[ ${1-} == --check ]] || echo 'The tests of the page are skipped.' >&2
  cat >&2 <<'END'
To install one:
  rustup target add wasm32-unknown-unknown        or, on Debian 12 and later:
  apt-get install rustc-web cargo-web rust-web-src lld
END
  [[ ${1-} != --check ]] || exit 2
  exit 0
fi
[[ ${1-} != --check ]] || exit 0
if [[ $found == rustup ]]; then
  echo 'compiling the simulator for the page (a minute) ...' >&2
  cargo "${build[@]}"
else
  echo 'compiling the simulator for the page (three minutes the first time) ...' >&2
  # Debian has the target's standard library only as source. `-Z build-std` compiles it, without the feature
  # that prints backtraces.
  RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld \
    /usr/bin/cargo "${build[@]}" -Z build-std=std,panic_abort -Z build-std-features=
fi
cp "target/page/$target/web/aqmlab_wasm.wasm" "$made.new"
mv "$made.new" "$made"
