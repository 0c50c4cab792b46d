/** Checks a ROS 2 parameter file against the node's table of parameters. */
import { existsSync, readFileSync } from 'node:fs';
import { fault, ok, warning, type Check, type Outcome } from './check';
import { robotCheck } from './files';
import {
  parseParameterFile,
  reaches,
  type GivenParameter,
  type ParameterSection,
} from '../ros/parameter-file';
import { checkParameter, type ParameterSpec, type ParameterValues } from '../ros/parameter-spec';
import { parameterSpecs, unknownParameters } from '../ros/params';
import { standingFaults } from '../ros/standing';

const CURE = 'see Parameters in the README';
/** `node`: name without namespace; sections of other nodes are not judged. */
export const parametersCheck = (path: string, node: string): Check => ({
  name: 'parameters',
  cure: CURE,
  run: () => {
    const { sections, faults } = parseParameterFile(readFileSync(path, 'utf8'));
    const ours = sections.filter(section => reaches(section, node));
    const given = ours.flatMap(section => section.parameters);
    const specs = parameterSpecs(new Map(given.map(({ name, value }) => [name, value])));
    const outcomes: Outcome[] = [
      ...faults.map(what => fault(what, 'ROS 2 would not start any node with this file')),
      ...sections.filter(section => !ours.includes(section)).map(section => foreign(section, node)),
      ...ours.flatMap(section =>
        section.parameters.flatMap(given => parameterOutcomes(section.node, given, specs)),
      ),
    ];
    if (faults.length === 0 && ours.length === 0) {
      const what = `no section is for a node named ${node}`;
      outcomes.push(fault(what, `begin with /**: and ros__parameters: below it, as config/oxygen.yaml does`));
    }
    if (!hasFault(outcomes))
      outcomes.push(...standingFaults(valuesOf(given, specs)).map(what => fault(what, CURE)));
    return hasFault(outcomes) ? outcomes : [...outcomes, summary(ours, specs)];
  },
});

const hasFault = (outcomes: readonly Outcome[]): boolean => outcomes.some(({ status }) => status === 'fault');

/** Checked values with defaults; what must come from elsewhere is empty. */
function valuesOf(given: readonly GivenParameter[], specs: readonly ParameterSpec[]): ParameterValues {
  const byName = new Map(given.map(({ name, value }) => [name, value]));
  return new Map(
    specs.map(spec => [
      spec.name,
      byName.has(spec.name) ? checkParameter(spec, byName.get(spec.name)) : (spec.default ?? ''),
    ]),
  );
}

const foreign = (section: ParameterSection, node: string): Outcome =>
  warning(
    `${section.node} is not checked: it is for another node than ${node}`,
    `give --node ${section.node.split('/').at(-1)} if that is the OxyGen node`,
  );

function parameterOutcomes(
  node: string,
  { name, value, line }: GivenParameter,
  specs: readonly ParameterSpec[],
): readonly Outcome[] {
  const where = `line ${line}, ${node}`;
  const [unknown] = unknownParameters([name], specs);
  if (unknown) {
    return [fault(`${where}: there is no parameter ${name}; did you mean ${unknown.nearest}?`, CURE)];
  }
  const spec = specs.find(one => one.name === name);
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

function summary(sections: readonly ParameterSection[], specs: readonly ParameterSpec[]): Outcome {
  const given = sections.flatMap(section => section.parameters);
  const required = specs.filter(spec => spec.default === null).map(spec => spec.name);
  const missing = required.filter(name => !given.some(one => one.name === name));
  const rest = missing.length === 0 ? '' : `; ${missing.join(' and ')} must come from launch arguments or -p`;
  const robot = given.find(one => one.name === 'robot')?.value;
  const then = typeof robot === 'string' && existsSync(robot) ? [robotCheck(robot)] : [];
  return ok(`${given.length} values for ${sections.map(section => section.node).join(' ')}${rest}`, then);
}
