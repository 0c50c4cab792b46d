// The result of scripts/gpu-check.sh as one Markdown table: node scripts/gpu-check/table.mjs RESULTS "PROVIDERS" SECONDS
// With --faults FILE: what `oxygen doctor --json` found wrong, one line each.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, homedir, release } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Lines of the faults in a report of the doctor. */
export const faultLines = report =>
  report.checks
    .filter(({ status }) => status === 'fault')
    .map(({ name, what, cure }) => `  ${name}: ${what}; ${cure}`);

/**
 * Libraries of the GPU where the process that runs the engine finds them, which the cache of ldconfig alone does not say,
 * and what the doctor had to say of this machine besides. `reports`: of the doctor, the last that is there counts.
 */
export function libraryRows(reports) {
  const checks = reports.at(-1)?.checks.filter(({ name }) => /^(cuda|tensorrt) /.test(name)) ?? [];
  const texts = wanted => checks.filter(wanted).map(({ what }) => what.replaceAll(homedir(), '~'));
  const found = texts(({ name, status }) => name.endsWith(' libraries') && status === 'ok');
  const warnings = texts(({ status }) => status === 'warning');
  return [
    ['libraries found by the doctor', found.join('; ') || 'none'],
    ...(warnings.length === 0 ? [] : [['warnings of the doctor', warnings.join('; ')]]),
  ];
}

const ms = value => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2));

/** Rows [what, value] of one verification; `result`: the JSON of `oxygen verify`. */
export function verifyRow(name, result) {
  const actions = result.quality.find(({ kind }) => kind === 'actions');
  const error = actions ? `, actions rms ${(100 * actions.rms).toPrecision(2)} %` : '';
  return [name, `${result.passed ? 'PASS' : 'FAIL'}: ${result.ok} ok, ${result.failed} differ${error}`];
}

/** Rows of one measurement; `m`: the JSON of measure.mjs. */
export function measureRows(name, m) {
  const decode = Object.entries(m.decode);
  const each = key => decode.map(([, of]) => ms(of[key])).join(', ');
  const rows = decode.map(([batch]) => batch).join(', ');
  const stages =
    m.frame_graph === undefined
      ? [
          'vision + prefill, Euler steps, both with copies',
          `${ms(m.vision_prefill_copies)}, ${ms(m.denoise_copies)} ms`,
        ]
      : [
          'frame graph (vision + prefill + copies, one Euler step)',
          `${ms(m.frame_graph)} ms (${ms(m.vision_prefill_copies)}, ${ms(m.euler_step)})`,
        ];
  const { alone, talking } = m;
  return [
    ['load, first frame', `${(m.load / 1e3).toFixed(1)} s, ${ms(m.first_frame)} ms`],
    stages,
    [`decode step by rows ${rows}`, `${each('step')} ms`],
    [`call and copies of a burst by rows ${rows}`, `${each('call')} ms`],
    ['frame without language: time, chunk out', `${ms(alone.frame)}, ${ms(alone.chunk)} ms`],
    [
      `frame with N ${talking.tokens}, k 5: time, chunk out, tokens/s`,
      `${ms(talking.frame)}, ${ms(talking.chunk)} ms, ${ms(talking.tokens_per_s)}`,
    ],
  ].map(([what, value]) => [`${name}: ${what}`, value]);
}

const run = (command, ...args) => {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
};

function machineRows(providers, seconds, reports) {
  const versionOf = name =>
    JSON.parse(readFileSync(path.join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
  const query =
    '--query-gpu=name,driver_version,memory.total,compute_cap,pcie.link.gen.max,pcie.link.width.max';
  const l4t = '/etc/nv_tegra_release';
  const gpu = run('nvidia-smi', query, '--format=csv,noheader').split('\n').join('; ');
  return [
    [
      'processor',
      `${cpus()[0]?.model ?? process.arch}, ${availableParallelism()} cores, ${process.arch}, Linux ${release()}`,
    ],
    ['GPU, driver, memory, capability, PCIe', gpu === '' ? 'none seen by nvidia-smi' : gpu],
    ...(existsSync(l4t) ? [['Jetson', readFileSync(l4t, 'utf8').split('\n')[0].replace(/^# /, '')]] : []),
    [
      'versions',
      `oxygen-vla ${run('git', 'rev-parse', '--short', 'HEAD') || '(no git)'}, node ${process.versions.node}, onnxruntime-node ${versionOf('onnxruntime-node')}`,
    ],
    ...libraryRows(reports),
    ['providers used', providers],
    ['time of the whole check', `${seconds} s`],
  ];
}

/** All rows; what failed is in the table too. `read`: text of a file in the folder of results. */
export function rowsOf(files, read) {
  return [...files].sort().flatMap(file => {
    const [, kind, name, ending] = /^(build|verify|measure)-(.+)\.(out|failed)$/.exec(file) ?? [];
    if (kind === undefined) return [];
    if (ending === 'failed') {
      // what was verified and differs has its own row
      const said = kind === 'verify' && isJson(read(`${kind}-${name}.out`));
      return said ? [] : [[`${kind} ${name}`, `FAILED: ${read(file).trim()}`]];
    }
    if (kind === 'build' || !isJson(read(file))) return [];
    const result = JSON.parse(read(file));
    return kind === 'verify' ? [verifyRow(`verify ${name}`, result)] : measureRows(name, result);
  });
}

function isJson(text) {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

const cell = text => String(text).replaceAll('|', '\\|').replace(/\s+/g, ' ');

function print([folder, providers = '', seconds = '']) {
  const read = file => {
    const whole = path.join(folder, file);
    return existsSync(whole) ? readFileSync(whole, 'utf8') : '';
  };
  const reports = ['doctor.json', 'doctor-tensorrt.json']
    .map(read)
    .filter(isJson)
    .map(text => JSON.parse(text));
  const rows = [...machineRows(providers, seconds, reports), ...rowsOf(readdirSync(folder), read)];
  console.log(['| | |', '|---|---|', ...rows.map(row => `| ${row.map(cell).join(' | ')} |`)].join('\n'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first, ...rest] = process.argv.slice(2);
  if (first === '--faults') console.log(faultLines(JSON.parse(readFileSync(rest[0], 'utf8'))).join('\n'));
  else print([first, ...rest]);
}
