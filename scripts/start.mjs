#!/usr/bin/env node
// Sets up what is missing, then runs the demo: the simulated robot and the node on a real ROS 2 graph.
import { projectEnv } from './setup/ros-env.mjs';
import { setUp } from './setup/runner.mjs';
import { allSteps } from './setup/steps.mjs';

if (!(await setUp(allSteps))) process.exit(1);
const { main } = await import('../demo/run.mjs');
await main(process.argv.slice(2), projectEnv());
