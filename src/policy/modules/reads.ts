/**
 * Whether a read path covers the path or lies below it.
 *
 * @param reads dotted paths from `input` or `data`, each covering everything below it.
 */
export function readsPath({ reads }: { readonly reads: readonly string[] }, path: string): boolean {
  return reads.some((read) => path === read || path.startsWith(`${read}.`) || read.startsWith(`${path}.`));
}
