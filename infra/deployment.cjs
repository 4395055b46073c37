/**
 * Parts of `serverless.yml` that have to be computed from stage parameters. A parameter is always a text (it may come
 * from the command line); lists are separated by commas, and the empty text means none.
 */
'use strict';

/** The entries of a list parameter. */
async function listParam(resolveVariable, name) {
  const text = String((await resolveVariable(`param:${name}`)) ?? '');
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** The function's VpcConfig; `null` = the function runs outside any VPC. */
async function vpc({ resolveVariable }) {
  const subnetIds = await listParam(resolveVariable, 'vpcSubnetIds');
  const securityGroupIds = await listParam(resolveVariable, 'vpcSecurityGroupIds');
  if (subnetIds.length === 0 && securityGroupIds.length === 0) return null;
  if (subnetIds.length === 0 || securityGroupIds.length === 0) {
    throw new Error('Parameters vpcSubnetIds and vpcSecurityGroupIds: set both (a function in a VPC) or neither.');
  }
  return { subnetIds, securityGroupIds };
}

/** Where alarms are sent; an empty list = they only show their state. */
async function alarmActions({ resolveVariable }) {
  return await listParam(resolveVariable, 'alarmTopicArn');
}

module.exports = { vpc, alarmActions, listParam };
