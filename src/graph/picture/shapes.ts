/** What a picture is made of, before and after it is laid out. */

export interface Place {
  readonly id: string
  readonly width: number
  readonly height: number
  /** A bar in which lines meet: it stands between two rows of others. */
  readonly isJoin?: true
}

export interface Line {
  readonly from: string
  readonly to: string
  /** How much room its label needs, if it has one. */
  readonly label?: { readonly width: number; readonly height: number }
}

export interface Sketch {
  /** The first one is where it all begins. */
  readonly places: readonly Place[]
  readonly lines: readonly Line[]
}

export interface Point {
  readonly x: number
  readonly y: number
}

/** By its middle. */
export interface Box extends Point {
  readonly width: number
  readonly height: number
}

export interface Route {
  /** From the border of its source to the border of its target. */
  readonly points: readonly Point[]
  /** Around corners; others bend from row to row. */
  readonly isDetour: boolean
  readonly label?: Box
}

/** From where to where a row goes. */
export interface Band {
  readonly top: number
  readonly middle: number
  readonly bottom: number
}
