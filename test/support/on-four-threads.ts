// Jest's setup file of the tests whose services have a thread for their dispatchers, however few cores there are.

process.env['THREADS'] = '3';
