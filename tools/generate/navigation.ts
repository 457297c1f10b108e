/** A page's way to the next one, which test/docs/reading-order.test.ts writes. */
const NAVIGATION = /\n\n---\n\nNext: .*\n$/;

/**
 * A page that is written anew by a program, with the way to the next page that the existing one
 * ends with.
 */
export function withNavigationOf(existing: string, written: string): string {
  return `${written.trimEnd()}${NAVIGATION.exec(existing)?.[0] ?? "\n"}`;
}
