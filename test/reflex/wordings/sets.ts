/** Sets of tools as people write them, each with a small world that answers its calls. */
import { z } from 'zod'
import { openSite } from '../../../examples/site-manager/database.ts'
import { entities as siteEntities, siteTools } from '../../../examples/site-manager/site.ts'
import { openSupplier, orderTool } from '../../../examples/site-manager/supplier.ts'
import { calculate } from '../../../src/cli/builtin/calculate.ts'
import { defineTool } from '../../../src/index.ts'
import { bank, garage, library, music, restaurant } from './fresh-sets.ts'
import { files, mail, tickets, todo } from './more-sets.ts'
import type { WordingSet } from './wording-set.ts'

export type SetName =
  | 'site'
  | 'assistant'
  | 'shop'
  | 'office'
  | 'home'
  | 'atelier'
  | 'tickets'
  | 'mail'
  | 'files'
  | 'todo'
  | 'music'
  | 'library'
  | 'bank'
  | 'restaurant'
  | 'garage'

/** A fresh world each time, so that no case sees what another has done. */
export function makeSet(name: SetName): WordingSet {
  return SETS[name]()
}

const text = (description: string) => z.string().describe(description)

const SETS: Readonly<Record<SetName, () => WordingSet>> = {
  site: () => ({
    tools: [...siteTools(openSite(':memory:')), orderTool(openSupplier('/nonexistent/orders.jsonl'), 0)],
    entities: siteEntities,
    looks: ['list_projects', 'find_project', 'list_tasks', 'list_documents'],
  }),
  assistant,
  shop,
  office,
  home,
  atelier,
  tickets,
  mail,
  files,
  todo,
  music,
  library,
  bank,
  restaurant,
  garage,
}

function assistant(): WordingSet {
  const notes = new Map([
    ['Groceries', 'milk, bread'],
    ['Holiday', 'book the ferry'],
    ['Garden', 'water the roses'],
  ])
  return {
    looks: ['calculate', 'current_time', 'list_notes', 'read_note'],
    tools: [
      defineTool({
        name: 'calculate',
        description: 'Calculates the value of an arithmetic expression with + - * / % ^ and brackets.',
        input: z.object({ expression: text('Such as (2 + 3) * 4') }),
        run: ({ expression }) => ({ value: calculate(expression) }),
        display: ({ value }) => String(value),
      }),
      defineTool({
        name: 'current_time',
        description: 'Tells the current date and time, here or in a time zone.',
        input: z.object({ timeZone: text('Such as Europe/Paris; here if left out').optional() }),
        run: () => ({ time: '10:30' }),
      }),
      defineTool({
        name: 'list_notes',
        description: 'Lists the names of all notes.',
        input: z.object({}),
        run: () => ({ notes: [...notes.keys()] }),
      }),
      defineTool({
        name: 'read_note',
        description: 'Reads a note.',
        input: z.object({ name: text('The name of the note') }),
        run: ({ name }) => ({ name, text: notes.get(name) ?? '' }),
      }),
      defineTool({
        name: 'write_note',
        description: 'Writes a note and keeps it. A note of the same name is replaced.',
        input: z.object({ name: text('The name of the note'), text: text('What it says') }),
        run: ({ name }) => ({ name, written: true }),
      }),
      defineTool({
        name: 'remove_note',
        description: 'Removes a note for good.',
        input: z.object({ name: text('The name of the note') }),
        run: ({ name }) => ({ name, removed: true }),
      }),
    ],
  }
}

function shop(): WordingSet {
  const products = [
    { id: 'p-101', name: 'Blue kettle', price: 39 },
    { id: 'p-102', name: 'Toaster', price: 25 },
    { id: 'p-103', name: 'Coffee grinder', price: 59 },
    { id: 'p-104', name: 'Red kettle', price: 42 },
  ]
  const productId = text('The id of the product')
  return {
    looks: ['list_products', 'search_products', 'get_product', 'show_cart', 'track_order'],
    tools: [
      defineTool({
        name: 'list_products',
        description: 'Lists all products of the shop.',
        input: z.object({ limit: z.number().int().positive().describe('How many at most').optional() }),
        run: () => ({ products }),
      }),
      defineTool({
        name: 'search_products',
        description: 'Searches products by text.',
        input: z.object({ query: text('What to look for') }),
        run: ({ query }) => products.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase())),
      }),
      defineTool({
        name: 'get_product',
        description: 'Gets the details of one product.',
        input: z.object({ productId }),
        run: ({ productId: id }) => products.find((product) => product.id === id) ?? null,
      }),
      defineTool({
        name: 'add_to_cart',
        description: 'Adds a product to the cart.',
        input: z.object({ productId, quantity: z.number().int().positive().describe('How many').optional() }),
        run: ({ productId: id }) => ({ added: id }),
      }),
      defineTool({
        name: 'remove_from_cart',
        description: 'Removes a product from the cart.',
        input: z.object({ productId }),
        run: ({ productId: id }) => ({ removed: id }),
      }),
      defineTool({
        name: 'show_cart',
        description: 'Shows what is in the cart.',
        input: z.object({}),
        run: () => ({ items: [] }),
      }),
      defineTool({
        name: 'place_order',
        description: 'Orders everything that is in the cart.',
        input: z.object({}),
        run: () => ({ orderId: 'o-77' }),
      }),
      defineTool({
        name: 'track_order',
        description: 'Tells where an order is.',
        input: z.object({ orderId: text('The id of the order') }),
        run: ({ orderId }) => ({ orderId, state: 'on its way' }),
      }),
    ],
  }
}

function office(): WordingSet {
  const events = [
    { id: 11, title: 'Budget review', date: '2026-03-02' },
    { id: 12, title: 'Lunch with Ana', date: '2026-03-03' },
    { id: 13, title: 'Dentist', date: '2026-03-05' },
  ]
  return {
    looks: ['list_events', 'list_contacts', 'get_weather'],
    tools: [
      defineTool({
        name: 'list_events',
        description: 'Lists the events of the calendar.',
        input: z.object({ date: z.iso.date().describe('Only this day').optional() }),
        run: () => events,
      }),
      defineTool({
        name: 'create_event',
        description: 'Creates an event in the calendar.',
        input: z.object({ title: text('What it is called'), date: z.iso.date().describe('The day') }),
        run: ({ title }) => ({ title }),
      }),
      defineTool({
        name: 'cancel_event',
        description: 'Cancels an event.',
        input: z.object({ eventId: z.number().int().describe('The id of the event') }),
        run: ({ eventId }) => ({ cancelled: eventId }),
      }),
      defineTool({
        name: 'list_contacts',
        description: 'Lists all contacts.',
        input: z.object({}),
        run: () => [{ name: 'Ana', email: 'ana@example.org' }],
      }),
      defineTool({
        name: 'send_email',
        description: 'Sends an email.',
        input: z.object({ to: z.email(), subject: z.string(), body: z.string() }),
        run: ({ to }) => ({ sent: to }),
      }),
      defineTool({
        name: 'get_weather',
        description: 'Gets the current weather for a city.',
        input: z.object({ city: text('Name of the city') }),
        run: ({ city }) => ({ city, sky: 'clear' }),
      }),
    ],
  }
}

function home(): WordingSet {
  const lights = [
    { id: 1, name: 'Ceiling', room: 'kitchen' },
    { id: 2, name: 'Reading lamp', room: 'bedroom' },
    { id: 3, name: 'Porch', room: 'garden' },
  ]
  const lightId = z.number().int().describe('The id of the light')
  const room = z.enum(['kitchen', 'bedroom', 'bathroom'])
  return {
    looks: ['list_lights', 'get_temperature'],
    tools: [
      defineTool({
        name: 'list_lights',
        description: 'Lists all lights of the house.',
        input: z.object({}),
        run: () => lights,
      }),
      defineTool({
        name: 'switch_on_light',
        description: 'Switches a light on.',
        input: z.object({ lightId }),
        run: ({ lightId: id }) => ({ id, on: true }),
      }),
      defineTool({
        name: 'switch_off_light',
        description: 'Switches a light off.',
        input: z.object({ lightId }),
        run: ({ lightId: id }) => ({ id, on: false }),
      }),
      defineTool({
        name: 'get_temperature',
        description: 'Tells the temperature of a room.',
        input: z.object({ room }),
        run: ({ room: where }) => ({ room: where, degrees: 20 }),
      }),
      defineTool({
        name: 'set_temperature',
        description: 'Sets the temperature of a room.',
        input: z.object({ room, degrees: z.number().min(5).max(30).describe('In degrees Celsius') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'lock_doors',
        description: 'Locks all doors.',
        input: z.object({}),
        run: () => ({ locked: true }),
      }),
    ],
  }
}

function atelier(): WordingSet {
  const clients = [
    { id: 'c1', nom: 'Durand' },
    { id: 'c2', nom: 'Petit' },
  ]
  const factures = [
    { id: 'f-1', titre: 'Portail Durand', statut: 'impayée' },
    { id: 'f-2', titre: 'Escalier Petit', statut: 'impayée' },
  ]
  return {
    looks: ['lister_factures', 'lister_clients', 'chercher_client'],
    tools: [
      defineTool({
        name: 'lister_factures',
        description: 'Liste les factures de l’atelier.',
        input: z.object({ statut: z.enum(['payée', 'impayée']).describe('Seulement celles-ci').optional() }),
        run: () => factures,
      }),
      defineTool({
        name: 'payer_facture',
        description: 'Paie une facture.',
        input: z.object({ factureId: text('L’identifiant de la facture') }),
        run: ({ factureId }) => ({ factureId }),
      }),
      defineTool({
        name: 'lister_clients',
        description: 'Liste tous les clients.',
        input: z.object({}),
        run: () => clients,
      }),
      defineTool({
        name: 'creer_client',
        description: 'Crée un client.',
        input: z.object({ nom: text('Le nom du client'), email: z.email().optional() }),
        run: ({ nom }) => ({ nom }),
      }),
      defineTool({
        name: 'chercher_client',
        description: 'Cherche un client par son nom.',
        input: z.object({ nom: text('Le nom du client') }),
        run: ({ nom }) => clients.filter((client) => client.nom === nom),
      }),
    ],
  }
}
