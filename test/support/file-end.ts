const ends: (() => unknown)[] = [];

/**
 * Calls `end` after the last test of the file that runs, the latest first. Test files share a
 * process and the modules that they import, so that an `afterAll` of such a module would be the
 * first file's alone.
 */
export function whenFileEnds(end: () => unknown): void {
  ends.push(end);
}

/** @throws the first error of an end, after all of them were called. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = [];
  for (const end of ends.splice(0).toReversed()) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
