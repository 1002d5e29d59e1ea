/** For subscribers of a conversation that this process only follows. */
import type { DrivingHere } from '../../src/drive/subscribers.ts'

const NOTHING_DRIVEN: DrivingHere = {
  follow: () => {},
  ownership: { betweenWrites: (read) => read(), flush: async () => {}, journal: { hasUnsaved: false } },
}

export const nothingDriven = (): DrivingHere => NOTHING_DRIVEN
