/** Sets of tools of the fresh wordings: music, a library, payments, a restaurant in French, and a garage. */
import { z } from 'zod'
import { defineTool } from '../../../src/index.ts'
import type { WordingSet } from './wording-set.ts'

const text = (description: string) => z.string().describe(description)

export function music(): WordingSet {
  const playlists = [
    { id: 'pl-1', name: 'Morning run', songs: 24 },
    { id: 'pl-2', name: 'Rainy days', songs: 11 },
    { id: 'pl-3', name: 'Cooking', songs: 40 },
  ]
  const playlistId = text('The id of the playlist')
  return {
    looks: ['list_playlists', 'show_playlist', 'now_playing'],
    tools: [
      defineTool({
        name: 'list_playlists',
        description: 'Lists all playlists.',
        input: z.object({}),
        run: () => playlists,
      }),
      defineTool({
        name: 'show_playlist',
        description: 'Shows the songs of a playlist.',
        input: z.object({ playlistId }),
        run: () => ({ songs: ['Blackbird', 'La mer'] }),
      }),
      defineTool({
        name: 'now_playing',
        description: 'Tells which song is playing now.',
        input: z.object({}),
        run: () => ({ song: 'Blackbird' }),
      }),
      defineTool({
        name: 'play_playlist',
        description: 'Plays a playlist.',
        input: z.object({ playlistId, shuffle: z.boolean().describe('In random order').optional() }),
        run: (given) => given,
      }),
      defineTool({
        name: 'pause_music',
        description: 'Pauses the music.',
        input: z.object({}),
        run: () => ({ paused: true }),
      }),
      defineTool({
        name: 'set_volume',
        description: 'Sets the volume of the music.',
        input: z.object({ volume: z.number().int().min(0).max(100).describe('In percent') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'create_playlist',
        description: 'Creates an empty playlist.',
        input: z.object({ name: text('The name of the playlist') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'delete_playlist',
        description: 'Deletes a playlist.',
        input: z.object({ playlistId }),
        run: (given) => given,
      }),
    ],
  }
}

export function library(): WordingSet {
  const loans = [
    { id: 71, title: 'Middlemarch', due: '2026-05-02' },
    { id: 72, title: 'The Sea', due: '2026-05-09' },
    { id: 73, title: 'Atlas of Birds', due: '2026-05-09' },
  ]
  const loanId = z.number().int().describe('The id of the loan')
  return {
    looks: ['list_loans', 'search_books', 'opening_hours'],
    tools: [
      defineTool({
        name: 'list_loans',
        description: 'Lists the books that you have borrowed.',
        input: z.object({}),
        run: () => loans,
      }),
      defineTool({
        name: 'search_books',
        description: 'Searches the catalogue for books.',
        input: z.object({ query: text('Title, author or subject') }),
        run: () => [{ isbn: '9780140449136', title: 'Crime and Punishment' }],
      }),
      defineTool({
        name: 'renew_loan',
        description: 'Renews a loan for four weeks.',
        input: z.object({ loanId }),
        run: (given) => given,
      }),
      defineTool({
        name: 'return_book',
        description: 'Returns a borrowed book.',
        input: z.object({ loanId }),
        run: (given) => given,
      }),
      defineTool({
        name: 'reserve_room',
        description: 'Reserves a reading room for a day.',
        input: z.object({ room: z.enum(['blue', 'green', 'attic']), date: z.iso.date().describe('The day') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'opening_hours',
        description: 'Tells the opening hours of the library.',
        input: z.object({ date: z.iso.date().describe('On this day; today if left out').optional() }),
        run: () => ({ opens: '09:00', closes: '18:00' }),
      }),
    ],
  }
}

export function bank(): WordingSet {
  const payees = [
    { id: 'y-1', name: 'Nora Weiss' },
    { id: 'y-2', name: 'City Gas' },
    { id: 'y-3', name: 'Paul Weiss' },
  ]
  const cards = [
    { id: 'card-4411', label: 'Travel card', status: 'active' },
    { id: 'card-9020', label: 'Family card', status: 'blocked' },
  ]
  const cardId = text('The id of the card')
  return {
    looks: ['get_balance', 'list_payees', 'list_cards', 'list_transactions'],
    tools: [
      defineTool({
        name: 'get_balance',
        description: 'Tells the balance of an account.',
        input: z.object({ account: z.enum(['current', 'savings']) }),
        run: ({ account }) => ({ account, balance: 812.4 }),
      }),
      defineTool({
        name: 'list_transactions',
        description: 'Lists the last transactions.',
        input: z.object({ count: z.number().int().positive().describe('How many').optional() }),
        run: () => [{ to: 'City Gas', amount: 60 }],
      }),
      defineTool({
        name: 'list_payees',
        description: 'Lists the people and firms that you pay.',
        input: z.object({}),
        run: () => payees,
      }),
      defineTool({
        name: 'send_payment',
        description: 'Sends money to a payee.',
        input: z.object({
          payeeId: text('The id of the payee'),
          amount: z.number().positive().describe('In euros'),
          reference: text('What it is for').optional(),
        }),
        run: (given) => given,
      }),
      defineTool({
        name: 'list_cards',
        description: 'Lists your cards.',
        input: z.object({}),
        run: () => cards,
      }),
      defineTool({
        name: 'block_card',
        description: 'Blocks a card.',
        input: z.object({ cardId }),
        run: (given) => given,
      }),
      defineTool({
        name: 'unblock_card',
        description: 'Unblocks a card.',
        input: z.object({ cardId }),
        run: (given) => given,
      }),
    ],
  }
}

export function restaurant(): WordingSet {
  const reservations = [
    { id: 'r-21', nom: 'Moreau', couverts: 4, date: '2026-06-12' },
    { id: 'r-22', nom: 'Haddad', couverts: 2, date: '2026-06-12' },
    { id: 'r-23', nom: 'Lambert', couverts: 6, date: '2026-06-13' },
  ]
  const plats = [
    { id: 1, nom: 'Soupe à l’oignon', prix: 9 },
    { id: 2, nom: 'Bar grillé', prix: 24 },
    { id: 3, nom: 'Tarte au citron', prix: 8 },
  ]
  return {
    looks: ['lister_reservations', 'afficher_carte'],
    tools: [
      defineTool({
        name: 'lister_reservations',
        description: 'Liste les réservations.',
        input: z.object({ date: z.iso.date().describe('Seulement ce jour').optional() }),
        run: () => reservations,
      }),
      defineTool({
        name: 'reserver_table',
        description: 'Réserve une table.',
        input: z.object({
          nom: text('Le nom du client'),
          couverts: z.number().int().positive().describe('Le nombre de personnes'),
          date: z.iso.date().describe('Le jour'),
        }),
        run: (given) => given,
      }),
      defineTool({
        name: 'annuler_reservation',
        description: 'Annule une réservation.',
        input: z.object({ reservationId: text('L’identifiant de la réservation') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'afficher_carte',
        description: 'Affiche les plats de la carte et leurs prix.',
        input: z.object({}),
        run: () => plats,
      }),
      defineTool({
        name: 'changer_prix',
        description: 'Change le prix d’un plat.',
        input: z.object({
          platId: z.number().int().describe('L’identifiant du plat'),
          prix: z.number().positive().describe('En euros'),
        }),
        run: (given) => given,
      }),
      defineTool({
        name: 'retirer_plat',
        description: 'Retire un plat de la carte.',
        input: z.object({ platId: z.number().int().describe('L’identifiant du plat') }),
        run: (given) => given,
      }),
    ],
  }
}

export function garage(): WordingSet {
  const repairs = [
    { id: 'R-801', vehicle: 'Red van', work: 'Brakes', status: 'waiting' },
    { id: 'R-802', vehicle: 'Old Clio', work: 'New battery', status: 'in progress' },
    { id: 'R-803', vehicle: 'Tractor', work: 'Oil change', status: 'waiting' },
  ]
  const repairId = text('The id of the repair')
  const status = z.enum(['waiting', 'in progress', 'finished'])
  return {
    looks: ['list_repairs', 'get_repair'],
    tools: [
      defineTool({
        name: 'list_repairs',
        description: 'Lists the repairs of the workshop.',
        input: z.object({ status: status.describe('Only these').optional() }),
        run: () => repairs,
      }),
      defineTool({
        name: 'get_repair',
        description: 'Gets the details of a repair.',
        input: z.object({ repairId }),
        run: ({ repairId: id }) => repairs.find((repair) => repair.id === id) ?? null,
      }),
      defineTool({
        name: 'create_repair',
        description: 'Creates a repair.',
        input: z.object({ vehicle: text('Which vehicle'), work: text('What has to be done') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'set_repair_status',
        description: 'Changes the status of a repair.',
        input: z.object({ repairId, status }),
        run: (given) => given,
      }),
      defineTool({
        name: 'assign_mechanic',
        description: 'Assigns a mechanic to a repair.',
        input: z.object({ repairId, mechanic: text('Who does it') }),
        run: (given) => given,
      }),
      defineTool({
        name: 'delete_repair',
        description: 'Deletes a repair.',
        input: z.object({ repairId }),
        run: (given) => given,
      }),
    ],
  }
}
