import { MODEL_OPERATION_OF, type Operation } from "../canon/operation.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS, type RequestShape } from "../canon/request.ts";

/**
 * Members of a request that have one value of a closed list, and that policies read but the table
 * does not.
 */
export type Scalars = Pick<RequestShape, "stream" | "context" | "maxOutput" | "reasoningEffort">;
export type ScalarMember = keyof Scalars;

interface Scalar<Value> {
  /** In reports, in bodies and, after `input.request.`, in the input of policies. */
  readonly name: string;
  /** The value of a plain request. */
  readonly plain: Value;
  readonly values: readonly Value[];
  /** In the contract, where the name does not explain itself. */
  readonly description?: string;
  /** Whether requests of an operation may have another value than the plain one. */
  readonly varies: (operation: Operation) => boolean;
}

const generates = (operation: Operation) => MODEL_OPERATION_OF[operation] === "generate";

const SCALARS = {
  stream: {
    name: "stream",
    plain: false,
    values: [false, true],
    varies: (operation) => generates(operation) && operation !== "messages.count_tokens",
  },
  context: {
    name: "context",
    plain: "unspecified",
    values: TOKEN_BUCKETS,
    description: "Size of the input in tokens.",
    varies: () => true,
  },
  maxOutput: {
    name: "max_output",
    plain: "unspecified",
    values: TOKEN_BUCKETS,
    description: "The most output, in tokens.",
    varies: generates,
  },
  reasoningEffort: {
    name: "reasoning_effort",
    plain: "unspecified",
    values: REASONING_EFFORTS,
    varies: generates,
  },
} as const satisfies { readonly [Member in ScalarMember]: Scalar<Scalars[Member]> };

type Make<Result> = (member: ScalarMember, scalar: Scalar<Scalars[ScalarMember]>) => Result;

/** One result for each member, in the order of reports. */
export function perScalar<Result>(make: Make<Result>): readonly Result[] {
  return Object.keys(SCALARS)
    .filter(isMember)
    .map((member) => make(member, SCALARS[member]));
}

function isMember(name: string): name is ScalarMember {
  return Object.hasOwn(SCALARS, name);
}

/** An object with each member. */
export function mapScalars<Result>(make: Make<Result>): {
  readonly [Member in ScalarMember]: Result;
} {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- perScalar meets every member
  return Object.fromEntries(perScalar((member, scalar) => [member, make(member, scalar)])) as {
    [Member in ScalarMember]: Result;
  };
}

/**
 * The members with the values that `of` reads; `null` where one has an unknown value. Of a flag,
 * everything but `true` is false.
 */
export function readScalars(of: (member: ScalarMember, name: string) => unknown): Scalars | null {
  const found = mapScalars((member, { name, plain, values }) => {
    const value = of(member, name);
    return typeof plain === "boolean" ? value === true : values.find((one) => one === value);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each is one of its own values
  return Object.values(found).includes(undefined) ? null : (found as Scalars);
}

/** Values that requests of an operation may have, the plain value first. */
export type ScalarValues = { readonly [Member in ScalarMember]: readonly Scalars[Member][] };

export function scalarValues(operation: Operation): ScalarValues {
  const values = mapScalars((_, { plain, values: all, varies }) =>
    varies(operation) ? all : [plain],
  );
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each has its own values
  return values as ScalarValues;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each is of its own values
export const PLAIN_SCALARS = mapScalars((_, { plain }) => plain) as Scalars;
