import { startConsulDouble } from '../../infra/local/consul-double/double.ts';
import { adapterContract } from './adapter-contract.ts';

adapterContract('the double (1.8)', () => startConsulDouble({ dialect: '1.8' }));
adapterContract('the double (current)', () => startConsulDouble({ dialect: 'current' }));
