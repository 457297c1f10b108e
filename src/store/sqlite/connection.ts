import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Prepared statements by name. */
type Statements<Sql> = { readonly [Name in keyof Sql]: StatementSync };

export type Connection = ReturnType<typeof storeConnection>;

/** Statements and write transactions of the thread's database. */
export function storeConnection(database: DatabaseSync) {
  // IMMEDIATE takes the write lock before the first read: a deferred transaction that reads first
  // fails at its first write when another process committed in between, and no waiting helps it.
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");

  return {
    /** Prepares every statement of a table. */
    prepare<Sql extends Readonly<Record<string, string>>>(sql: Sql): Statements<Sql> {
      const statements = Object.entries(sql).map(([name, text]) => [name, database.prepare(text)]);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names
      return Object.fromEntries(statements) as Statements<Sql>;
    },
    /** Runs `action` in one write transaction: durable when this returns, or undone. */
    transaction<Result>(action: () => Result): Result {
      begin.run();
      try {
        const result = action();
        commit.run();
        return result;
      } catch (error) {
        // Some errors (disk full) have rolled back; a second ROLLBACK would hide them.
        if (database.isTransaction) rollback.run();
        throw error;
      }
    },
  };
}
