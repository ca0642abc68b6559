// What we use of ../vendor/idb, for the check of types: https://github.com/jakearchibald/idb has the whole.

type Keyed = string | IDBKeyRange | number;

interface KeptStore {
  add(value: any): Promise<any>;
  get(key: Keyed): Promise<any>;
  put(value: any, key?: Keyed): Promise<any>;
  delete(key: Keyed): Promise<void>;
}

interface Transaction {
  readonly done: Promise<void>;
  readonly store: KeptStore;
  objectStore(name: string): KeptStore;
}

export interface Database {
  close(): void;
  createObjectStore(name: string, options?: IDBObjectStoreParameters): KeptStore;
  clear(store: string): Promise<void>;
  count(store: string): Promise<number>;
  get(store: string, key: Keyed): Promise<any>;
  getAll(store: string): Promise<any[]>;
  getAllKeys(store: string): Promise<any[]>;
  put(store: string, value: any, key?: Keyed): Promise<any>;
  delete(store: string, key: Keyed): Promise<void>;
  transaction(stores: string | string[], mode?: IDBTransactionMode, options?: IDBTransactionOptions): Transaction;
}

export function openDB(name: string, version?: number, hooks?: { upgrade(fresh: Database): void; blocking(): void }): Promise<Database>;
export function deleteDB(name: string, hooks?: { blocked(): void }): Promise<void>;
