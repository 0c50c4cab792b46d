// `colcon build` of this package into install/: the messages for C++ and Python, and the installed node.
import fs from 'node:fs';
import path from 'node:path';
import { bindingFiles } from './app-files.mjs';
import { run } from './command.mjs';
import { at, INSTALL, ROOT, STATE, VENV_PYTHON } from './paths.mjs';
import { envScript, rosEnv, rosKind, rosName } from './ros-env.mjs';

const ENV_SCRIPT = path.join(STATE, 'env.sh');

const SOURCES = [
  'package.xml',
  'CMakeLists.txt',
  'colcon.pkg',
  'msg',
  'launch',
  'config',
  'bin',
  'scripts/install-app.mjs',
  'scripts/setup/app-files.mjs',
];

/** CMake's cache holds the paths of the ROS 2 and of the folder that it was made with. */
const dropForeignBuild = origin => {
  const file = at('build/origin.txt');
  if (fs.existsSync(file) && fs.readFileSync(file, 'utf8') === origin) return;
  for (const folder of ['build', 'install']) fs.rmSync(at(folder), { recursive: true, force: true });
  fs.mkdirSync(at('build'));
  fs.writeFileSync(file, origin);
};

export const colcon = {
  name: 'colcon build',
  inputs: ({ env }) => [
    [...SOURCES.map(name => at(name)), at('dist'), at('package.json'), at('package-lock.json')],
    [rosName(env), rosEnv(env).AMENT_PREFIX_PATH, ROOT, ...bindingFiles(ROOT)],
  ],
  outputs: [path.join(INSTALL, 'lib/oxygen_vla/oxygen'), ENV_SCRIPT],
  run: async ({ env, onLine }) => {
    const ros = rosEnv(env);
    const wheels = rosKind(env) === 'wheels';
    dropForeignBuild(`${rosName(env)}\n${ros.AMENT_PREFIX_PATH}\n${ROOT}`);
    await run(
      'colcon',
      [
        ...['--log-base', 'log', 'build', '--paths', ROOT],
        ...['--event-handlers', 'console_direct+', '--cmake-force-configure'],
        ...(wheels ? ['--cmake-args', `-DPython3_EXECUTABLE=${VENV_PYTHON}`] : []),
      ],
      { env: ros, onLine },
    );
    fs.writeFileSync(ENV_SCRIPT, envScript(env));
  },
};
