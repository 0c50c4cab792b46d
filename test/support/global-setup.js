// Gives all tests, and the processes that they start, the environment of ROS 2. `npm test` sets up first.
const { buildTestEngines } = require('./build-engines');

module.exports = async () => {
  const { projectEnv } = await import('../../scripts/setup/ros-env.mjs');
  Object.assign(process.env, projectEnv());
  buildTestEngines();
};
