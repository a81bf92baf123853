// fast-check as our properties use it. Of itself it makes lists of ten at most, whatever longer is allowed: steps that need others before them would hardly ever come.

import fc from 'fast-check';

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

export default fc;
