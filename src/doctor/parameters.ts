/** Checks a ROS 2 parameter file against the node's table of parameters. */
import { existsSync, readFileSync } from 'node:fs';
import { fault, ok, warning, type Check, type Outcome } from './check';
import { robotCheck } from './files';
import { parseParameterFile, type GivenParameter, type ParameterSection } from '../ros/parameter-file';
import { checkParameter, PARAMETERS, unknownParameters } from '../ros/params';

const CURE = 'see Parameters in the README';
/** Name of the node unless launch or `-r __node:=` gives another. */
export const NODE_NAME = 'oxygen';

/** `node`: name without namespace; sections of other nodes are not judged. */
export const parametersCheck = (path: string, node: string): Check => ({
  name: 'parameters',
  cure: CURE,
  run: () => {
    const { sections, faults } = parseParameterFile(readFileSync(path, 'utf8'));
    const ours = sections.filter(section => reaches(section, node));
    const outcomes: Outcome[] = [
      ...faults.map(what => fault(what, 'ROS 2 would not start any node with this file')),
      ...sections.filter(section => !ours.includes(section)).map(section => foreign(section, node)),
      ...ours.flatMap(section => section.parameters.flatMap(given => parameterOutcomes(section.node, given))),
    ];
    if (faults.length === 0 && ours.length === 0) {
      const what = `no section is for a node named ${node}`;
      outcomes.push(fault(what, `begin with /**: and ros__parameters: below it, as config/oxygen.yaml does`));
    }
    return outcomes.some(outcome => outcome.status === 'fault') ? outcomes : [...outcomes, summary(ours)];
  },
});

const reaches = (section: ParameterSection, node: string): boolean =>
  [node, '*', '**'].includes(section.node.split('/').at(-1) ?? '');

const foreign = (section: ParameterSection, node: string): Outcome =>
  warning(
    `${section.node} is not checked: it is for another node than ${node}`,
    `give --node ${section.node.split('/').at(-1)} if that is the OxyGen node`,
  );

function parameterOutcomes(node: string, { name, value, line }: GivenParameter): readonly Outcome[] {
  const where = `line ${line}, ${node}`;
  const [unknown] = unknownParameters([name]);
  if (unknown) {
    return [fault(`${where}: there is no parameter ${name}; did you mean ${unknown.nearest}?`, CURE)];
  }
  const spec = PARAMETERS.find(one => one.name === name);
  if (!spec || value === undefined) return [];
  try {
    checkParameter(spec, value);
  } catch (error) {
    return [fault(`${where}: ${(error as Error).message}`, CURE)];
  }
  return PATHS.has(name) && !existsSync(String(value)) ? [absent(where, name, String(value))] : [];
}

const PATHS: ReadonlySet<string> = new Set(['engine', 'robot']);

const absent = (where: string, name: string, path: string): Outcome =>
  warning(`${where}: ${name} ${path} does not exist, seen from here`, 'write the whole path, from / on');

function summary(sections: readonly ParameterSection[]): Outcome {
  const given = sections.flatMap(section => section.parameters);
  const required = PARAMETERS.filter(spec => spec.default === null).map(spec => spec.name);
  const missing = required.filter(name => !given.some(one => one.name === name));
  const rest = missing.length === 0 ? '' : `; ${missing.join(' and ')} must come from launch arguments or -p`;
  const robot = given.find(one => one.name === 'robot')?.value;
  const then = typeof robot === 'string' && existsSync(robot) ? [robotCheck(robot)] : [];
  return ok(`${given.length} values for ${sections.map(section => section.node).join(' ')}${rest}`, then);
}
