/** Names of files that some file systems take for one. */

/** Equal for such names: letters fold by Unicode, where `ſ` is an `s`, and characters that are not drawn do not count. */
export function foldedName(name: string): string {
  const drawn = name.normalize('NFC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return drawn.toUpperCase().toLowerCase()
}
