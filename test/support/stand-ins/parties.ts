// Who sends and receives in the tests of providers.

export const emailSender = { fromName: 'Acme, Inc.', fromEmail: 'noreply@example.com' };
export const emailRecipient = 'ada@example.org';

export const smsSender = '+4930123456';
export const smsRecipient = '+491701234567';
