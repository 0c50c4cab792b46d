/** The parameters of the replayed node: those of the live one, from a parameter file and from the command line. */
import { OxygenError } from '../core/errors';
import { readSmallFile } from '../model/small-file';
import { parseParameterFile, reaches } from '../ros/parameter-file';
import { NODE_NAME, parameterSpecs, unknownParameters } from '../ros/params';

const MAX_BYTES = 1 << 20;

/** Later ones win. `file`: a ROS 2 parameter file; `options`: `name:=value`, as after -p. @throws OxygenError CONFIG_INVALID, USAGE */
export function givenParameters(
  file: string | null,
  options: readonly string[],
  others: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, unknown> {
  const given = new Map([
    ...(file === null ? [] : parametersOf(read(file), file)),
    ...options.flatMap(optionOf),
    ...Object.entries(others),
  ]);
  const [unknown] = unknownParameters(given.keys(), parameterSpecs(given));
  if (unknown === undefined) return given;
  throw new OxygenError(
    'CONFIG_INVALID',
    `there is no parameter ${unknown.name}; did you mean ${unknown.nearest}?`,
  );
}

function read(path: string): string {
  try {
    return readSmallFile(path, MAX_BYTES).toString();
  } catch (cause) {
    throw new OxygenError('CONFIG_INVALID', `--params-file ${path}: ${(cause as Error).message}`, { cause });
  }
}

function parametersOf(text: string, where: string): [string, unknown][] {
  const { sections, faults } = parseParameterFile(text);
  if (faults.length > 0) throw new OxygenError('CONFIG_INVALID', `${where}: ${faults.join('; ')}`);
  return sections
    .filter(section => reaches(section, NODE_NAME))
    .flatMap(section => section.parameters.map(({ name, value }): [string, unknown] => [name, value]));
}

/** The value is YAML, as after -p of a ROS command line. */
function optionOf(option: string): [string, unknown][] {
  const at = option.indexOf(':=');
  if (at <= 0) throw new OxygenError('USAGE', `--param ${option}: wanted is name:=value`);
  const [name, value] = [option.slice(0, at), option.slice(at + 2)];
  return parametersOf(`/**:\n  ros__parameters:\n    ${name}: ${value}\n`, `--param ${option}`);
}
