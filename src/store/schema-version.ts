/**
 * Why a database with this schema cannot be used; `null` where steps lead from it to the newest.
 *
 * @param present version of the database's schema; 0 for an empty one
 * @param steps of the engine: the first makes the whole schema of an empty database
 */
export function schemaVersionFault(present: number, steps: readonly { readonly version: number }[]): string | null {
  const [oldest, newest] = [steps[0]?.version ?? 0, steps.at(-1)?.version ?? 0];
  if (present > newest) {
    return `this database has schema version ${present}, and this program supports versions up to ${newest}; run the newer program, or use another database`;
  }
  if (present > 0 && present < oldest) {
    return `this database has schema version ${present}, and this program converts versions from ${oldest} only; read it with the program that wrote it, and use another database here`;
  }
  return null;
}
