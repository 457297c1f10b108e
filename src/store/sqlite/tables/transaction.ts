import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Runs `action` in one write transaction: durable when this returns, or undone. */
export class Transaction {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    // IMMEDIATE takes the write lock before the first read: a deferred transaction that reads first
    // fails at its first write when another process committed in between, and no waiting helps it.
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#rollback = database.prepare("ROLLBACK");
  }

  run<Result>(action: () => Result): Result {
    this.#begin.run();
    try {
      const result = action();
      this.#commit.run();
      return result;
    } catch (error) {
      // Some errors (disk full) have rolled back; a second ROLLBACK would hide them.
      if (this.#database.isTransaction) this.#rollback.run();
      throw error;
    }
  }
}

/** Prepared statements by name. */
export type Statements<Sql> = { readonly [Name in keyof Sql]: StatementSync };

/** Prepares every statement of a table. */
export function prepareAll<Sql extends Readonly<Record<string, string>>>(
  database: DatabaseSync,
  sql: Sql,
): Statements<Sql> {
  const statements = Object.entries(sql).map(([name, text]) => [name, database.prepare(text)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names
  return Object.fromEntries(statements) as Statements<Sql>;
}
