/**
 * Text of somebody else with the replacement character for what is invisible, or what turns text
 * around; tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t]|[\p{Cf}\u2028\u2029]/gu, "\uFFFD").toWellFormed();
}
