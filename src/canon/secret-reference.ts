/** Where a secret stands. Never the secret itself. */
export type SecretReference = { readonly env: string } | { readonly file: string };
