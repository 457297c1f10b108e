/** What is wrong with a request, whatever the protocol; each protocol writes it in its own shape. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  /** The member concerned, such as `messages[0].role`. */
  readonly param: string | null;
  readonly code: string | null;
}

/** A 400 about one member. */
export function invalid(param: string | null, message: string, code: string | null = null): Problem {
  return { status: 400, message, param, code };
}

/** A 400 that is about what the test asked of the simulated provider, and no provider would give. */
export function unplayable(message: string, param: string | null = null): Problem {
  return invalid(param, message, "mock_behaviour");
}
