/** A fault of a request, in any protocol; each protocol writes it in its own shape. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  /** The member concerned, such as `messages[0].role`. */
  readonly param: string | null;
  readonly code: string | null;
}

/** A 400 about one member. */
export function invalid(
  param: string | null,
  message: string,
  code: string | null = null,
): Problem {
  return { status: 400, message, param, code };
}

/** A 400 about a test's settings of the simulated provider, which no real provider would give. */
export function unplayable(message: string, param: string | null = null): Problem {
  return invalid(param, message, "mock_behaviour");
}
