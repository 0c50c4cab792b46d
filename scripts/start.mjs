#!/usr/bin/env node
// Sets up what is missing, then runs the demo: the simulated robot and the node on a real ROS 2 graph.
import { main } from '../demo/run.mjs';
import { projectEnv } from './setup/ros-env.mjs';
import { setUp } from './setup/runner.mjs';
import { allSteps } from './setup/steps.mjs';

await main(process.argv.slice(2), async () => ((await setUp(allSteps)) ? projectEnv() : undefined));
