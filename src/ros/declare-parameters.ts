/** Declares the table of parameters on a node, and keeps live changes inside it. */
import { OxygenError, describeError } from '../core/errors';
import type { Logger } from './drops';
import { checkParameter } from './parameter-spec';
import type { ParameterSpec, ParameterValue, ParameterValues } from './parameter-spec';
import { parameterSpecs, readParameters, unknownParameters } from './params';
import { standingFaults } from './standing';
import type { Rcl, RclNode, RclParameter, SetParametersResult } from './rcl';

const TYPE_NAMES = {
  string: 'PARAMETER_STRING',
  integer: 'PARAMETER_INTEGER',
  double: 'PARAMETER_DOUBLE',
  boolean: 'PARAMETER_BOOL',
  'string[]': 'PARAMETER_STRING_ARRAY',
} as const;

/**
 * Declares everything; the values are those of the command line and of parameter files.
 * @throws OxygenError CONFIG_INVALID with every fault found.
 */
export function declareParameters(rcl: Rcl, node: RclNode, log: Logger): ParameterValues {
  const given = givenParameters(node);
  const specs = parameterSpecs(given);
  for (const { name, nearest } of unknownParameters(given.keys(), specs)) {
    log.warn(`unknown parameter ${name} is ignored; did you mean ${nearest}?`);
  }
  const values = readParameters(given);
  for (const spec of specs) {
    const parameter = new rcl.Parameter(spec.name, typeOf(rcl, spec), values.get(spec.name)!);
    const descriptor = new rcl.ParameterDescriptor(
      spec.name,
      typeOf(rcl, spec),
      spec.description,
      spec.readOnly,
      null,
    );
    node.declareParameter(parameter, descriptor, true);
  }
  return values;
}

/** Without those that ROS knows no type of: an empty list of a parameter file is one. */
const givenParameters = (node: RclNode): ReadonlyMap<string, unknown> =>
  new Map(
    node
      .getParameterOverrides()
      .filter(({ value }) => value !== undefined)
      .map(({ name, value }) => [name, value]),
  );

/** Calls `changed` after a live change with all current values. */
export function watchParameters(rcl: Rcl, node: RclNode, changed: (values: ParameterValues) => void): void {
  const specs = parameterSpecs(givenParameters(node));
  const specOf = (parameter: RclParameter): ParameterSpec | undefined =>
    specs.find(spec => spec.name === parameter.name);
  const current = (): [string, ParameterValue][] =>
    specs.map(spec => [spec.name, checkParameter(spec, node.getParameter(spec.name).value)]);
  const integerType = rcl.ParameterType['PARAMETER_INTEGER']!;

  // 70 is as good as 70.0.
  node.addPreSetParametersCallback(parameters =>
    parameters.map(parameter =>
      specOf(parameter)?.kind === 'double' && parameter.type === integerType
        ? new rcl.Parameter(parameter.name, rcl.ParameterType['PARAMETER_DOUBLE']!, Number(parameter.value))
        : parameter,
    ),
  );
  node.addOnSetParametersCallback(parameters => {
    for (const parameter of parameters) {
      const fault = faultOf(rcl, specOf(parameter), parameter);
      if (fault !== null) return { successful: false, reason: fault };
    }
    const changes = parameters.flatMap((parameter): [string, ParameterValue][] => {
      const spec = specOf(parameter);
      return spec ? [[spec.name, checkParameter(spec, parameter.value)]] : [];
    });
    const [fault] = standingFaults(new Map([...current(), ...changes]));
    return fault === undefined ? ACCEPTED : { successful: false, reason: fault };
  });
  node.addPostSetParametersCallback(parameters => {
    if (parameters.some(specOf)) changed(new Map(current()));
  });
}

const ACCEPTED: SetParametersResult = { successful: true, reason: '' };

const typeOf = (rcl: Rcl, spec: ParameterSpec): number => rcl.ParameterType[TYPE_NAMES[spec.kind]]!;

function faultOf(rcl: Rcl, spec: ParameterSpec | undefined, parameter: RclParameter): string | null {
  if (!spec) return null;
  if (parameter.type === rcl.ParameterType['PARAMETER_NOT_SET'])
    return `parameter ${spec.name} cannot be removed`;
  try {
    checkParameter(spec, parameter.value);
    return null;
  } catch (error) {
    return error instanceof OxygenError ? error.message : describeError(error);
  }
}
