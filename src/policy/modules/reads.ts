/**
 * Whether a read path covers the path or lies below it.
 *
 * @param reads dotted paths from `input` or `data`, each covering everything below it.
 */
export function readsPath({ reads }: { readonly reads: readonly string[] }, path: string): boolean {
  return reads.some((read) => path === read || path.startsWith(`${read}.`) || read.startsWith(`${path}.`));
}

/**
 * Whether a read path covers all of the path. Of a list that is read by `"x" in list` alone, only the path below it with the name `x` is read
 * (`tools/rego/facts.go`): other names may be in it or not.
 */
export function readsAllOf({ reads }: { readonly reads: readonly string[] }, path: string): boolean {
  return reads.some((read) => path === read || path.startsWith(`${read}.`));
}
