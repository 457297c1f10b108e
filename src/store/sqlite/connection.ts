import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Prepared statements by name. */
export type Statements<Sql> = { readonly [Name in keyof Sql]: StatementSync };

/** Statements and write transactions of the thread's database. */
export class Connection {
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

  /** Prepares every statement of a table. */
  prepare<Sql extends Readonly<Record<string, string>>>(sql: Sql): Statements<Sql> {
    const statements = Object.entries(sql).map(([name, text]) => [
      name,
      this.#database.prepare(text),
    ]);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names
    return Object.fromEntries(statements) as Statements<Sql>;
  }

  /** Runs `action` in one write transaction: durable when this returns, or undone. */
  transaction<Result>(action: () => Result): Result {
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
