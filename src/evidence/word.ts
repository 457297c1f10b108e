declare const word: unique symbol;

/**
 * An identifier that our own configuration, table or generator made: never text that a client or a provider sent.
 * Records hold these, enums, numbers and booleans only; `test/evidence/record.test-d.ts` proves it over every member.
 */
export type Word = string & { readonly [word]: true };

/** The only way to make a {@link Word}; call it on ids of the table, of keys and of our own generators. */
export function asWord(identifier: string): Word {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where the brand is put on
  return identifier as Word;
}
