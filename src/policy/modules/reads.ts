/**
 * Whether what is read says anything of what stands at the path.
 *
 * @param reads dotted paths from `input` or `data`, each covering everything below it.
 */
export function readsPath({ reads }: { readonly reads: readonly string[] }, path: string): boolean {
  return reads.some((read) => path === read || path.startsWith(`${read}.`) || read.startsWith(`${path}.`));
}
