/** build.sh of an engine folder: makes its TensorRT engines on the machine that will run them. */
import type { ModelConfig } from '../../model/config';
import { TENSORRT_FOLDER, TENSORRT_GRAPHS, TENSORRT_SCRIPT } from '../../model/tensorrt-engine';
import { tensorRtProfiles, trtexecOptions } from './profiles';

/** Quoted for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Engines hold for one set of weights, one GPU model and one TensorRT version, so they lie in a folder of that name, and
 * key.json in it says the three as they were read; it comes last, so a folder without it is not finished.
 */
export function buildScript(c: ModelConfig, weights: string): string {
  const profiles = tensorRtProfiles(c);
  const lines = TENSORRT_GRAPHS.map(graph => {
    const options = trtexecOptions(profiles[graph]).map(o => `  ${quoted(o)}`);
    const paths = [`  --onnx=${graph}.onnx`, `  --saveEngine="$work/${graph}.engine"`];
    return (
      [`"$trtexec"`, ...paths, ...options].join(' \\\n') + `\ncp ${graph}.context.onnx "$work/${graph}.onnx"`
    );
  });
  return `#!/bin/sh
# Written by oxygen build: makes the TensorRT engines of this folder for the GPU of this machine. Takes minutes.
# TRTEXEC names another trtexec than the one on PATH.
set -eu
cd "$(dirname "$0")"
weights=${weights}
trtexec=\${TRTEXEC:-trtexec}

stop() {
  echo "${TENSORRT_SCRIPT}: $1" >&2
  exit 1
}

# the first line of its output holds e.g. [TensorRT v101303]
number=$("$trtexec" --help 2>&1 | sed -n 's/.*\\[TensorRT v\\([0-9]*\\)\\].*/\\1/p' | head -n 1) || true
[ -n "$number" ] || stop "$trtexec does not run; install TensorRT 10 or name it with TRTEXEC"
version=$((number / 10000)).$((number / 100 % 100)).$((number % 100))
# the provider of ONNX Runtime 1.30 loads libnvinfer.so.10, which reads engines of its own version only
[ "$((number / 10000))" -eq 10 ] || stop "$trtexec is TensorRT $version; ONNX Runtime needs TensorRT 10"

gpu=$(nvidia-smi --id=0 --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || true
[ -n "$gpu" ] || gpu=$(tr -d '\\000' 2>/dev/null </proc/device-tree/model) || true
[ -n "$gpu" ] || stop "no GPU found: neither nvidia-smi nor /proc/device-tree/model names one"

key=$weights-$(printf %s "$gpu" | tr -c 'A-Za-z0-9' '_')-$version
work=${TENSORRT_FOLDER}/.$key.tmp-$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
${lines.join('\n')}
printf '{"weights":"%s","gpu":"%s","tensorrt":"%s"}\\n' "$weights" "$gpu" "$version" >"$work/key.json"
rm -rf "${TENSORRT_FOLDER}/$key"
mv "$work" "${TENSORRT_FOLDER}/$key"
echo "${TENSORRT_SCRIPT}: engines are in ${TENSORRT_FOLDER}/$key"
`;
}
