/** Values that the browser keeps for the page. Where it keeps none, they last as long as the page. */

export interface KeptValues {
  get(name: string): string | undefined
  set(name: string, value: string): void
  remove(name: string): void
}

/** Until the tab is closed. */
export const ofTab: KeptValues = keptValues(() => sessionStorage)
/** For all tabs. */
export const ofBrowser: KeptValues = keptValues(() => localStorage)

/** Already the access to a storage throws where the reader has switched it off. */
function keptValues(open: () => Storage): KeptValues {
  const held = new Map<string, string>()
  const tried = <T>(work: (storage: Storage) => T): T | undefined => {
    try {
      return work(open())
    } catch {
      return undefined
    }
  }
  return {
    get: (name) => tried((storage) => storage.getItem(name)) ?? held.get(name),
    set: (name, value) => {
      held.set(name, value)
      tried((storage) => storage.setItem(name, value))
    },
    remove: (name) => {
      held.delete(name)
      tried((storage) => storage.removeItem(name))
    },
  }
}
