/** @throws {RangeError} for a limit or a position out of range */
export function refuseRange({
  after,
  limit,
}: {
  readonly after: number;
  readonly limit: number;
}): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000) {
    throw new RangeError("limit: give a whole number from 1 to 10,000");
  }
  if (!Number.isSafeInteger(after) || after < 0) {
    throw new RangeError("after: give a sequence number, 0 for all entries");
  }
}
