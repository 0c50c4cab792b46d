/** The parameters of a running node: declared from the table, kept inside it, and told when they change. */
import { OxygenError, describeError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { Logger } from './drops';
import { limitFaults, limitParameters } from './limits';
import { checkParameter } from './parameter-spec';
import type { ParameterSpec, ParameterValue, ParameterValues } from './parameter-spec';
import {
  isOfRos,
  parameterSpecs,
  readParameters,
  unknownLimits,
  unknownParameters,
  withLimits,
} from './params';
import { standingFaults } from './standing';
import type { Rcl, RclNode, RclParameter, SetParametersResult } from './rcl';

const TYPE_NAMES = {
  string: 'PARAMETER_STRING',
  integer: 'PARAMETER_INTEGER',
  double: 'PARAMETER_DOUBLE',
  boolean: 'PARAMETER_BOOL',
  'string[]': 'PARAMETER_STRING_ARRAY',
} as const;

export class NodeParameters {
  readonly #rcl: Rcl;
  readonly #node: RclNode;
  readonly #log: Logger;
  readonly #given: ReadonlyMap<string, unknown>;
  #specs: readonly ParameterSpec[];
  #values: ParameterValues;
  #robot: Robot | null = null;

  /**
   * Declares everything but the limits; the values are those of the command line and of parameter files.
   * @throws OxygenError CONFIG_INVALID with every fault found.
   */
  constructor(rcl: Rcl, node: RclNode, log: Logger) {
    this.#rcl = rcl;
    this.#node = node;
    this.#log = log;
    this.#given = givenParameters(node);
    this.#specs = parameterSpecs(this.#given);
    for (const { name, nearest } of unknownParameters(this.#given.keys(), this.#specs)) {
      log.warn(`unknown parameter ${name} is ignored; did you mean ${nearest}?`);
    }
    this.#values = readParameters(this.#given);
    this.#declare(this.#specs);
  }

  get values(): ParameterValues {
    return this.#values;
  }

  /**
   * The limits of the robot become parameters, instead of those of another one.
   * @throws OxygenError CONFIG_INVALID with every fault found.
   */
  robot(robot: Robot): ParameterValues {
    if (this.#robot) {
      const old = limitParameters(this.#robot);
      for (const { name } of old) this.#node.undeclareParameter(name);
      this.#specs = this.#specs.filter(spec => !old.some(({ name }) => name === spec.name));
      this.#robot = null;
    }
    for (const name of unknownLimits(this.#given, robot))
      this.#log.warn(`unknown parameter ${name} is ignored: the robot file has no such action`);
    this.#values = withLimits(this.#values, this.#given, robot);
    const specs = limitParameters(robot);
    this.#robot = robot;
    this.#specs = [...this.#specs, ...specs];
    this.#declare(specs);
    return this.#values;
  }

  /** Why a change is refused; null when it is not. Every reason names the parameter and says what is allowed. */
  refusal(parameters: readonly RclParameter[]): SetParametersResult | null {
    for (const parameter of parameters) {
      const reason = this.#faultOf(parameter);
      if (reason !== null) return { successful: false, reason };
    }
    const wanted = this.#with(parameters);
    const [reason] = [...standingFaults(wanted), ...(this.#robot ? limitFaults(wanted, this.#robot) : [])];
    return reason === undefined ? null : { successful: false, reason };
  }

  /** Calls `changed` after a live change with all current values. */
  watch(changed: (values: ParameterValues) => void): void {
    const { PARAMETER_INTEGER, PARAMETER_DOUBLE } = this.#rcl.ParameterType;
    // 70 is as good as 70.0.
    this.#node.addPreSetParametersCallback(parameters =>
      parameters.map(parameter =>
        this.#specOf(parameter)?.kind === 'double' && parameter.type === PARAMETER_INTEGER
          ? new this.#rcl.Parameter(parameter.name, PARAMETER_DOUBLE!, Number(parameter.value))
          : parameter,
      ),
    );
    this.#node.addPostSetParametersCallback(parameters => {
      const ours = parameters.filter(parameter => this.#specOf(parameter) !== undefined);
      if (ours.length === 0) return;
      this.#values = this.#with(ours);
      changed(this.#values);
    });
  }

  #declare(specs: readonly ParameterSpec[]): void {
    const { ParameterType, Parameter, ParameterDescriptor } = this.#rcl;
    for (const spec of specs) {
      const type = ParameterType[TYPE_NAMES[spec.kind]]!;
      const descriptor = new ParameterDescriptor(spec.name, type, spec.description, spec.readOnly, null);
      // rclnodejs leaves the range out of the message.
      Object.assign(descriptor, { toMessage: () => descriptorMessage(spec, type) });
      this.#node.declareParameter(
        new Parameter(spec.name, type, this.#values.get(spec.name)!),
        descriptor,
        true,
      );
    }
  }

  #with(parameters: readonly RclParameter[]): ParameterValues {
    const changes = parameters.flatMap((parameter): [string, ParameterValue][] => {
      const spec = this.#specOf(parameter);
      return spec ? [[spec.name, checkParameter(spec, parameter.value)]] : [];
    });
    return new Map([...this.#values, ...changes]);
  }

  #specOf({ name }: RclParameter): ParameterSpec | undefined {
    return this.#specs.find(spec => spec.name === name);
  }

  #faultOf(parameter: RclParameter): string | null {
    const spec = this.#specOf(parameter);
    if (!spec) return isOfRos(parameter.name) ? null : `there is no parameter ${parameter.name}`;
    if (parameter.type === this.#rcl.ParameterType['PARAMETER_NOT_SET'])
      return `parameter ${spec.name} cannot be removed`;
    if (spec.readOnly) return `parameter ${spec.name} is read-only: it is fixed when the node starts`;
    try {
      checkParameter(spec, parameter.value);
      return null;
    } catch (error) {
      return error instanceof OxygenError ? error.message : describeError(error);
    }
  }
}

/** Without those that ROS knows no type of: an empty list of a parameter file is one. */
const givenParameters = (node: RclNode): ReadonlyMap<string, unknown> =>
  new Map(
    node
      .getParameterOverrides()
      .filter(({ value }) => value !== undefined)
      .map(({ name, value }) => [name, value]),
  );

/** rcl_interfaces/msg/ParameterDescriptor. */
function descriptorMessage(spec: ParameterSpec, type: number): object {
  const { name, description, readOnly, choices, kind, min, max } = spec;
  const bounds = (of: (n: number) => number | bigint): object[] => [
    { from_value: of(min!), to_value: of(max!), step: of(0) },
  ];
  const int64 = (n: number): bigint => (n >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(n));
  return {
    name,
    type,
    description,
    additional_constraints: choices ? `one of ${choices.join(', ')}` : '',
    read_only: readOnly,
    integer_range: kind === 'integer' ? bounds(int64) : [],
    floating_point_range: kind === 'double' ? bounds(Number) : [],
  };
}
