/** Loads a package that is an optional peer, when it is needed; a missing one is an error with the command that installs it. */
import { HoldfastError } from './error.ts'

/** `user`: the feature that needs the package, as the subject of a sentence. */
export async function optionalPackage<T>(name: string, user: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError('missing-package', {
      message: `${user} needs the package ${name}, which is not installed: npm install ${name}`,
      details: { package: name },
      cause,
    })
  }
}
