/**
 * Calls of the file system as points at which a process can be killed: before each, after each, and in the middle of
 * writing a content. Patches `node:fs/promises` for the whole process; only calls of code that runs within a stage count.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { constants } from 'node:fs'
import files, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

export interface FileSteps {
  /** Does one step. `half` does a part of it, for a kill in the middle. */
  fileStep<T>(step: () => Promise<T>, half?: () => Promise<unknown>): Promise<T>
}

const stages = new AsyncLocalStorage<FileSteps>()

export function withFileSteps<T>(stage: FileSteps, play: () => Promise<T>): Promise<T> {
  patch()
  return stages.run(stage, play)
}

type Step = (...given: never[]) => Promise<unknown>

function counted<F extends Step>(original: F): F {
  const step = (...given: unknown[]): Promise<unknown> => {
    const work = (): Promise<unknown> => Reflect.apply(original, files, given) as Promise<unknown>
    return stages.getStore()?.fileStep(work) ?? work()
  }
  return step as unknown as F
}

let isPatched = false

function patch(): void {
  if (isPatched) return
  isPatched = true
  const { open } = files
  const create = counted(open)
  files.rename = counted(files.rename)
  files.link = counted(files.link)
  files.unlink = counted(files.unlink)
  files.mkdir = counted(files.mkdir as Step) as typeof files.mkdir
  files.open = async (path, flags, mode) => {
    const isNew = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0
    const handle = await (isNew ? create : open)(path, flags, mode)
    patchHandle(Object.getPrototypeOf(handle) as FileHandle)
    return handle
  }
  syncBuiltinESMExports()
}

let isHandlePatched = false

/** The class of handles is not exported. */
function patchHandle(prototype: FileHandle): void {
  if (isHandlePatched) return
  isHandlePatched = true
  const [writeFile, sync] = [methodOf(prototype, 'writeFile'), methodOf(prototype, 'sync')]
  prototype.writeFile = function (this: FileHandle, content, ...options) {
    const work = (part: typeof content): Promise<void> => writeFile(this, [part, ...options])
    const half = typeof content === 'string' ? content.slice(0, content.length / 2) : content
    const whole = (): Promise<void> => work(content)
    return stages.getStore()?.fileStep(whole, () => work(half)) ?? whole()
  }
  prototype.sync = function (this: FileHandle) {
    const work = (): Promise<void> => sync(this, [])
    return stages.getStore()?.fileStep(work) ?? work()
  }
}

type Method = (handle: FileHandle, given: readonly unknown[]) => Promise<void>

function methodOf(prototype: FileHandle, name: 'writeFile' | 'sync'): Method {
  const method = Reflect.get(prototype, name) as (...given: never[]) => unknown
  return (handle, given) => Reflect.apply(method, handle, given) as Promise<void>
}
