/** One step forward. Released steps are never changed or removed; a new one is added at the end. */
interface Step<Connection> {
  /** Rises. */
  readonly version: number;
  readonly name: string;
  /** Statements, or a step that needs more; inside one transaction with its number. */
  readonly sql: string | ((connection: Connection) => unknown);
}

/** A schema that a database can have. */
export interface SchemaVersions<Connection = never> {
  /** The oldest version from which steps lead to the newest. */
  readonly oldest: number;
  /** Creates the whole schema in an empty database. */
  readonly baseline: Step<Connection>;
  /** From the oldest version on; steps up to the baseline's version lead to the same schema. */
  readonly steps: readonly Step<Connection>[];
}

export function newestVersion({ baseline, steps }: SchemaVersions): number {
  return Math.max(baseline.version, ...steps.map(({ version }) => version));
}

/** Why this schema cannot be used; `null`: steps lead to the newest. @param present 0: none */
export function schemaVersionFault(present: number, versions: SchemaVersions): string | null {
  const { oldest } = versions;
  const newest = newestVersion(versions);
  if (present > newest) {
    return `this database has schema version ${present}, and this program supports versions up to ${newest}; run the newer program, or use another database`;
  }
  if (present > 0 && present < oldest) {
    return `this database has schema version ${present}, and this program converts versions from ${oldest} only; read it with the program that wrote it, and use another database here`;
  }
  return null;
}

/** The steps from this schema to the newest, in order. */
export function missingSteps<Connection>(
  present: number,
  { baseline, steps }: SchemaVersions<Connection>,
): readonly Step<Connection>[] {
  const from = present === 0 ? baseline.version : present;
  const later = steps.filter(({ version }) => version > from);
  return present === 0 ? [baseline, ...later] : later;
}
