#!/usr/bin/env bash
# Does the NVIDIA path work on this machine, and how fast? Builds engines, verifies and measures them within eight
# minutes and prints one table to send in an issue of the repository that you got this from. docs/nvidia.md says what
# has to be installed.
#
# usage: scripts/gpu-check.sh [--cpu] [--out DIR]
#   --cpu      rehearsal: everything on the CPU, with small models; no GPU is looked for
#   --out DIR  where engines and results go (default: a temporary folder, removed at the end)
# trtexec is taken from PATH, or from $TENSORRT_HOME/bin (default /usr/src/tensorrt/bin); without it TensorRT is left out.
#
# exit code: 0 all passed (with --cpu: on the CPU); 1 something failed, the table says what; 2 wrong usage or the
# program is not set up; 3 there is no usable NVIDIA GPU: said why, then what a CPU can show was run.
set -u
called_from=$PWD
cd "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2

LIMIT_S=480
STARTED=$SECONDS
out=''
where=gpu

usage() {
  sed -n '/^# usage/,/^set/p' scripts/gpu-check.sh | sed '$d; s/^# \{0,1\}//'
  exit "$1"
}

while [ $# -gt 0 ]; do
  case $1 in
    --cpu) where=cpu ;;
    --out) [ $# -ge 2 ] || usage 2; out=$2; shift ;;
    -h | --help) usage 0 ;;
    *) usage 2 ;;
  esac
  shift
done

say() { printf '%s\n' "$*" >&2; }
stop() { say "gpu-check: $*"; exit 2; }

command -v node >/dev/null || stop 'node is not on PATH; install Node.js 22 LTS'
[ -f dist/main.js ] || stop 'the program is not built; run `npm run setup` first'
[ -d node_modules/onnxruntime-node ] || stop 'the dependencies are not installed; run `npm run setup` first'

if [ -z "$out" ]; then
  out=$(mktemp -d) || stop 'no temporary folder can be made'
  trap 'rm -rf -- "$out"' EXIT
fi
out=$(cd "$called_from" && realpath -m -- "$out")
mkdir -p "$out/results" || stop "$out cannot be written"
rm -f "$out"/results/*

oxygen() { node dist/main.js "$@"; }
left() { echo $((LIMIT_S - (SECONDS - STARTED))); }

# step NAME COMMAND...: runs it with the time that is left; its output is kept, the last line is shown if it fails.
failed=0
step() {
  local name=$1 start=$SECONDS code
  shift
  if [ "$(left)" -le 0 ]; then
    say "left out  $name: the eight minutes are over"
    printf 'left out: no time\n' >"$out/results/$name.failed"
    failed=1
    return 1
  fi
  timeout "$(left)" "$@" >"$out/results/$name.out" 2>"$out/results/$name.log"
  code=$?
  if [ $code -eq 0 ]; then
    say "ok        $name ($((SECONDS - start)) s)"
    return 0
  fi
  [ $code -eq 124 ] && echo 'ran out of the eight minutes' >>"$out/results/$name.log"
  # what it said last: on standard error if there was anything
  grep -h '[^[:space:]]' "$out/results/$name.out" "$out/results/$name.log" | tail -n 1 | sed 's/^{.*/see the table/' | cut -c 1-300 >"$out/results/$name.failed"
  say "FAILED    $name, exit code $code: $(cat "$out/results/$name.failed")"
  failed=1
  return 1
}

tensorrt=${TENSORRT_HOME:-/usr/src/tensorrt}
trtexec_at() { command -v trtexec || { [ -x "$tensorrt/bin/trtexec" ] && echo "$tensorrt/bin/trtexec"; }; }

# --- what is there -----------------------------------------------------------------------------------------------
exit_without_failure=0
providers=cpu
if [ $where = gpu ]; then
  if oxygen doctor --provider cuda --json >"$out/results/doctor.json" 2>"$out/results/doctor.log"; then
    providers=cuda
    if trtexec_at >/dev/null; then
      if oxygen doctor --provider tensorrt --json >"$out/results/doctor-tensorrt.json" 2>>"$out/results/doctor.log"; then
        providers='cuda tensorrt'
      else
        say 'TensorRT is left out, because:'
        node scripts/gpu-check/table.mjs --faults "$out/results/doctor-tensorrt.json" >&2
      fi
    else
      say 'TensorRT is left out: there is no trtexec on PATH or in '"$tensorrt/bin"
    fi
  else
    say 'There is no usable NVIDIA GPU here:'
    node scripts/gpu-check/table.mjs --faults "$out/results/doctor.json" >&2
    say 'What a CPU can show follows (as with --cpu).'
    exit_without_failure=3
  fi
fi

# --- engines -----------------------------------------------------------------------------------------------------
# name, then what `oxygen build` needs. tiny and odd have numbers of independent implementations; demo and bench are
# compared with their own float32 engines.
golden() { printf '%s\n' --random-init "test/data/golden/$1/config.json" --seed "$2" --tokenizer "test/data/golden/$1/tokenizer.json" --norm-stats "test/data/golden/$1/norm_stats.json"; }
source_of() {
  case $1 in
    tiny) golden tiny 1006 ;;
    odd) golden odd 2002 ;;
    demo) printf '%s\n' --checkpoint demo/checkpoint ;;
    bench) printf '%s\n' --random-init config/bench.json --seed 3003 ;;
  esac
}
# build NAME TARGET
build() {
  local source
  mapfile -t source < <(source_of "$1")
  step "build-$1-$2" node dist/main.js build "${source[@]}" --target "$2" --out "$out/$1-$2"
}
# verify NAME TARGET PROVIDER OPTIONS...
verify() { step "verify-$1-$3" node dist/main.js verify --engine "$out/$1-$2" --provider "$3" --json "${@:4}"; }
# measure NAME TARGET OPTIONS...
measure() { step "measure-$1-$2" node scripts/gpu-check/measure.mjs "$out/$1-$2" "$2" "${@:3}"; }

export TRTEXEC
TRTEXEC=$(trtexec_at) || unset TRTEXEC
if [ "$providers" = cpu ]; then
  for name in tiny odd; do
    build $name cuda && verify $name cuda cpu --golden "test/data/golden/$name"
  done
  build tiny tensorrt
  for target in cuda tensorrt; do
    [ -d "$out/tiny-$target" ] && measure tiny $target --on-cpu --frames 4
  done
else
  for name in demo bench; do build $name cpu; done
  # trtexec takes minutes for each engine, so TensorRT gets the two that say most
  for provider in $providers; do
    exact='tiny odd' timed='demo bench'
    [ "$provider" = tensorrt ] && exact=tiny timed=bench
    for name in $exact; do
      build "$name" "$provider" && verify "$name" "$provider" "$provider" --golden "test/data/golden/$name"
    done
    for name in $timed; do
      build "$name" "$provider" || continue
      verify "$name" "$provider" "$provider" --reference "$out/$name-cpu"
      measure "$name" "$provider" --frames 20
    done
  done
fi

node scripts/gpu-check/table.mjs "$out/results" "$providers" $((SECONDS - STARTED)) || failed=1
[ $failed -eq 0 ] || exit 1
exit $exit_without_failure
