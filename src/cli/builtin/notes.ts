/** Notes as text files in one folder; nothing outside of that folder is touched. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,80}$/u
const END = '.md'

export class Notes {
  readonly #folder: () => string

  /** @param folder created when the first note is written */
  constructor(folder: () => string) {
    this.#folder = folder
  }

  async list(): Promise<string[]> {
    const files = await readdir(this.#folder()).catch(() => [])
    return files
      .filter((file) => file.endsWith(END))
      .map((file) => file.slice(0, -END.length))
      .toSorted()
  }

  async read(name: string): Promise<string> {
    const path = this.#path(name)
    try {
      return await readFile(path, 'utf8')
    } catch {
      throw new Error(await this.#unknown(name))
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = this.#path(name)
    await mkdir(this.#folder(), { recursive: true })
    await writeFile(path, text)
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name)
    try {
      await rm(path)
    } catch {
      throw new Error(await this.#unknown(name))
    }
  }

  #path(name: string): string {
    if (!NAME.test(name))
      throw new Error(`${JSON.stringify(name)} is no name for a note. Use letters, digits and spaces.`)
    return join(this.#folder(), `${name}${END}`)
  }

  async #unknown(name: string): Promise<string> {
    const names = await this.list()
    return `There is no note ${JSON.stringify(name)}. ${names.length === 0 ? 'There are none.' : `There are ${names.join(', ')}.`}`
  }
}
