// Jest's setup file of the tests whose services have threads of their own for their dispatchers and for batches' items, however few cores there are.

process.env['THREADS'] = '4';
